import { expect, test } from "vitest";
import { plainKeys, ringOf } from "../../../src/serve/keys/key-ring.js";

test("knows its keys, and nothing else", () => {
  const keys = plainKeys(["first", "", "sécond"]);
  expect(keys.callerOf("first")).toEqual({ name: "key 1", mayReplay: true });
  expect(keys.callerOf("sécond")).toEqual({ name: "key 2", mayReplay: true });
  for (const text of ["", "First", "first ", "firs", "second"]) expect(keys.callerOf(text)).toBeUndefined();
  expect(plainKeys([]).callerOf("")).toBeUndefined();
});

test("a ring of rings knows the keys of each, and reads each again", async () => {
  const later: string[] = [];
  const ring = ringOf(plainKeys(["first"]), {
    callerOf: (key) => (later.includes(key) ? { name: key } : undefined),
    refresh: async () => void later.push("second"),
  });
  expect(["first", "second"].map((key) => ring.callerOf(key)?.name)).toEqual(["key 1", undefined]);
  await ring.refresh?.();
  expect(["first", "second", "third"].map((key) => ring.callerOf(key)?.name)).toEqual([
    "key 1",
    "second",
    undefined,
  ]);
});
