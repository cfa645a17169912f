import { randomInt } from "node:crypto";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { Storage } from "../../lake/storage/storage.js";
import { type KeyRecord, type KeyStore, keysText, parseKeys } from "./key-records.js";

const FOLDER = "keys";
const NAME = /^(\d{12})\.json$/;
/** Most attempts at one change, if other processes make changes first. */
const MAX_ATTEMPTS = 50;

/**
 * A store of keys that several machines share. Each change creates the next numbered file. Of two changes at the same
 * time one succeeds, and the other one is repeated on the new version. Earlier versions remain, and show who had a key
 * at which time.
 */
export function keyPlace(storage: Pick<Storage, "location" | "list" | "readText" | "putIfAbsent">): KeyStore {
  const newest = async (): Promise<number> => {
    const names = await storage.list(FOLDER);
    return names.reduce((last, name) => Math.max(last, Number(NAME.exec(name)?.[1] ?? 0)), 0);
  };
  const recordsOf = async (version: number): Promise<KeyRecord[]> => {
    if (version === 0) return [];
    const path = pathOf(version);
    const text = await storage.readText(path);
    return parseKeys(text ?? "", `${storage.location}/${path}`);
  };
  return {
    location: storage.location,
    // Each check lists files, a request for which a store may charge.
    checkMs: 3000,
    stamp: async () => String(await newest()),
    read: async () => recordsOf(await newest()),
    async change(make) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        const version = await newest();
        const keys = make(await recordsOf(version));
        if (await storage.putIfAbsent(pathOf(version + 1), keysText(keys))) return;
        await systemClock.sleep(randomInt(1, 100));
      }
      throw new UsageError(`${storage.location}: other commands are changing the keys`, {
        hint: "run it again",
      });
    },
  };
}

function pathOf(version: number): string {
  return `${FOLDER}/${String(version).padStart(12, "0")}.json`;
}
