import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyIdOf, keyIdSecret } from "../../../src/client/key/key-id.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

test("a key's id is the same each time, and another one for each key, host and secret", async () => {
  const secret = await keyIdSecret(join(temporaryFolder(), "state"));
  const id = keyIdOf(secret, "api.example.com", "secret-key");
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  expect(keyIdOf(secret, "api.example.com", "secret-key")).toBe(id);
  expect(keyIdOf(secret, "api.example.com", "secret-kez")).not.toBe(id);
  expect(keyIdOf(secret, "api.example.org", "secret-key")).not.toBe(id);
  const ofOther = await keyIdSecret(join(temporaryFolder(), "state"));
  expect(keyIdOf(ofOther, "api.example.com", "secret-key")).not.toBe(id);
});

test("processes that need the secret at the same time have the same one, which the user alone can read", async () => {
  const folder = join(temporaryFolder(), "state");
  const secrets = await Promise.all(Array.from({ length: 8 }, () => keyIdSecret(folder)));
  expect(new Set(secrets.map((secret) => Buffer.from(secret).toString("hex"))).size).toBe(1);
  expect(readdirSync(folder)).toEqual(["key-id-secret"]);
  const path = join(folder, "key-id-secret");
  if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(secrets[0]).toEqual(readFileSync(path));
  expect(await keyIdSecret(folder)).toEqual(readFileSync(path));
});

test("a secret that was cut short is replaced; one that cannot be stored lasts for one call", async () => {
  const folder = join(temporaryFolder(), "state");
  mkdirSync(folder);
  writeFileSync(join(folder, "key-id-secret"), "short");
  const secret = await keyIdSecret(folder);
  expect(secret).toHaveLength(32);
  expect(await keyIdSecret(folder)).toEqual(secret);
  const file = join(folder, "file");
  writeFileSync(file, "");
  const passing = await keyIdSecret(file);
  expect(passing).toHaveLength(32);
  expect(await keyIdSecret(file)).not.toEqual(passing);
});
