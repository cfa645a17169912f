import { expect, test } from "vitest";
import {
  BarlakeError,
  CommitConflict,
  messageOf,
  QueryError,
  ServiceError,
  WireError,
} from "../../src/core/errors.js";

test("an error carries its own name, its facts, its hint and its cause", () => {
  const cause = new Error("below");
  const error = new WireError("truncated", "response ends", 42, { cause, hint: "ask again" });
  expect(error).toBeInstanceOf(BarlakeError);
  expect(error).toMatchObject({
    name: "WireError",
    kind: "truncated",
    byteOffset: 42,
    hint: "ask again",
    cause,
  });
  expect(error.message).toBe("response ends (at byte 42)");
  expect(new CommitConflict("lost").name).toBe("CommitConflict");
  expect(new QueryError("no such table", "FROM x").sql).toBe("FROM x");
});

test("what is not known is undefined, and an error without a cause has none", () => {
  const error = new ServiceError("refused", { status: 403, code: "FORBIDDEN" });
  expect([error.status, error.code, error.retryAfterMs, error.hint]).toEqual([
    403,
    "FORBIDDEN",
    undefined,
    undefined,
  ]);
  expect("cause" in error).toBe(false);
});

test("the message of anything thrown", () => {
  expect(["text", 5, undefined, new Error("why")].map(messageOf)).toEqual(["text", "5", "undefined", "why"]);
});
