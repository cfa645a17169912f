import { expect, test } from "vitest";
import { plainKeys } from "../../../src/serve/keys/key-ring.js";

test("knows its keys, and nothing else", () => {
  const keys = plainKeys(["first", "", "sécond"]);
  expect(keys.callerOf("first")).toEqual({ name: "key 1", mayReplay: true });
  expect(keys.callerOf("sécond")).toEqual({ name: "key 2", mayReplay: true });
  for (const text of ["", "First", "first ", "firs", "second"]) expect(keys.callerOf(text)).toBeUndefined();
  expect(plainKeys([]).callerOf("")).toBeUndefined();
});
