import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { addKey, keyFile, revokeKey } from "../../../src/serve/keys/key-records.js";
import { StoredKeys } from "../../../src/serve/keys/key-ring.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const NOW = Date.parse("2026-11-21T00:00:00Z");

function setUp() {
  const path = join(temporaryFolder(), "some", "keys.json");
  const clock = {
    time: NOW,
    now: (): number => clock.time,
    sleep: (): Promise<void> => new Promise(() => {}),
  };
  const faults: unknown[] = [];
  const open = (): Promise<StoredKeys> =>
    StoredKeys.open(keyFile(path), clock, (error) => void faults.push(error));
  return { path, clock, faults, open };
}

test("a key is known by what was printed once; the file has its hash alone, for its owner's eyes", async () => {
  const { path, open } = setUp();
  const key = await addKey(keyFile(path), "alice", { allow: ["klines"], requestsPerMinute: 60 }, NOW);
  const keys = await open();
  expect(keys.callerOf(key)).toMatchObject({ name: "alice", requestsPerMinute: 60 });
  expect([...(keys.callerOf(key)?.allow ?? [])]).toEqual(["klines"]);
  const text = readFileSync(path, "utf8");
  expect(key).toMatch(/^bl_[0-9a-f]{12}_[0-9a-f]{48}$/);
  expect(text).not.toContain(key.slice(-48));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await addKey(keyFile(path), "bob", {}, NOW)).not.toBe(key);
});

test("a key whose secret is of the older form remains valid", async () => {
  const { path, open } = setUp();
  await addKey(keyFile(path), "alice", {}, NOW);
  const [id, salt, secret] = ["0123456789ab", "ab".repeat(16), "_-AZaz09".repeat(4)];
  const hash = createHash("sha256").update(salt, "hex").update(secret, "utf8").digest("hex");
  const [alice] = await keyFile(path).read();
  writeFileSync(path, JSON.stringify({ version: 1, keys: [{ ...alice, name: "old", id, salt, hash }] }));
  const keys = await open();
  expect(keys.callerOf(`bl_${id}_${secret}`)).toEqual({ name: "old" });
  expect(keys.callerOf(`bl_${id}_${secret.slice(1)}A`)).toBeUndefined();
});

test("what is nobody's key: another secret, another id, parts, nothing", async () => {
  const { path, open } = setUp();
  const key = await addKey(keyFile(path), "alice", {}, NOW);
  const keys = await open();
  const [, id = "", secret = ""] = key.split("_");
  const other = `${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}`;
  for (const text of [
    `bl_${id}_${other}`,
    `bl_${"0".repeat(12)}_${secret}`,
    secret,
    id,
    `bl_${id}_`,
    key.toUpperCase(),
    ` ${key}`,
    `${key}\n`,
    "",
  ]) {
    expect([text, keys.callerOf(text)]).toEqual([text, undefined]);
  }
});

test("a running service takes up a new key, and lets go a revoked one, within a second", async () => {
  const { path, clock, open } = setUp();
  const keys = await open();
  expect(keys.size).toBe(0);
  const key = await addKey(keyFile(path), "alice", {}, NOW);
  await keys.refresh();
  expect(keys.callerOf(key)).toEqual({ name: "alice" });
  await revokeKey(keyFile(path), "alice", NOW);
  clock.time += 999;
  await keys.refresh();
  expect(keys.callerOf(key)).toBeDefined();
  clock.time += 1;
  await keys.refresh();
  expect(keys.callerOf(key)).toBeUndefined();
  expect(await keyFile(path).read()).toMatchObject([
    { name: "alice", revokedAt: "2026-11-21T00:00:00.000Z" },
  ]);
  const again = await addKey(keyFile(path), "alice", {}, NOW);
  clock.time += 1000;
  await keys.refresh();
  expect([keys.callerOf(key), keys.callerOf(again)]).toEqual([undefined, { name: "alice" }]);
});

test("a file that is damaged while a service runs is reported, and its keys remain valid", async () => {
  const { path, clock, faults, open } = setUp();
  const key = await addKey(keyFile(path), "alice", {}, NOW);
  const keys = await open();
  const right = readFileSync(path, "utf8");
  for (const text of ["", "{", '{"version":1}', right.replace("1,", "2,"), right.replace("alice", "a b")]) {
    writeFileSync(path, text);
    clock.time += 1000;
    await keys.refresh();
    expect(keys.callerOf(key)).toEqual({ name: "alice" });
  }
  expect(faults.map(String)).toEqual(Array(5).fill(expect.stringContaining("is no file of keys")));
  await expect(open()).rejects.toThrow("is no file of keys");
  await expect(addKey(keyFile(path), "bob", {}, NOW)).rejects.toThrow("is no file of keys");
});

test("a name is one key's at a time, and fit for a log", async () => {
  const { path } = setUp();
  await addKey(keyFile(path), "alice", {}, NOW);
  await expect(addKey(keyFile(path), "alice", {}, NOW)).rejects.toThrow("key alice is there already");
  await expect(revokeKey(keyFile(path), "bob", NOW)).rejects.toThrow("key bob is not known");
  for (const name of ["", "a b", "-", "x\n", "a".repeat(65)])
    await expect(addKey(keyFile(path), name, {}, NOW)).rejects.toThrow("is not letters");
  expect(await keyFile(path).read()).toHaveLength(1);
});

test("a change is waited for as long as its process lives, however old it is, and no longer", async () => {
  const { path } = setUp();
  await addKey(keyFile(path), "first", {}, NOW);
  const fileOf = (id: string): string => join(`${path}.changes`, `${id}.json`);
  const changedBy = (id: string, pid: number): void => {
    mkdirSync(`${path}.changes`, { recursive: true });
    writeFileSync(`${path}.draft`, JSON.stringify({ host: hostname(), pid, since: NOW, id }));
    utimesSync(`${path}.draft`, 0, 0);
    renameSync(`${path}.draft`, fileOf(id));
  };
  changedBy("running", process.pid);
  let isAdded = false;
  const adding = addKey(keyFile(path), "second", {}, NOW).finally(() => {
    isAdded = true;
  });
  for (let look = 0; look < 100; look++) await setImmediate();
  expect([isAdded, existsSync(fileOf("running"))]).toEqual([false, true]);
  // A process that cannot be: its number is above all that there are.
  changedBy("ended", 2 ** 22 + 1);
  rmSync(fileOf("running"));
  await adding;
  expect((await keyFile(path).read()).map(({ name }) => name)).toEqual(["first", "second"]);
  expect(readdirSync(dirname(path))).toEqual(["keys.json"]);
});

test("commands at the same time lose no key of one another", async () => {
  const { path } = setUp();
  const names = Array.from({ length: 8 }, (_, n) => `key-${n}`);
  await Promise.all(names.map((name) => addKey(keyFile(path), name, {}, NOW)));
  expect((await keyFile(path).read()).map(({ name }) => name).sort()).toEqual(names);
});
