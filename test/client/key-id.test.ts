import { expect, test } from "vitest";
import { keyIdOf } from "../../src/client/key-id.js";

test("a key's id is the same each time, another one for each key and host, and does not hold the key", () => {
  const id = keyIdOf("api.example.com", "secret-key");
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(keyIdOf("api.example.com", "secret-key")).toBe(id);
  expect(keyIdOf("api.example.com", "secret-kez")).not.toBe(id);
  expect(keyIdOf("api.example.org", "secret-key")).not.toBe(id);
});
