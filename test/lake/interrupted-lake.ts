import { Lake } from "../../src/lake/lake.js";
import { folderStorage } from "../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../src/lake/storage/storage.js";
import { type VirtualClock, virtualClock } from "../faults/clock/virtual-clock.js";
import { T0 } from "./temporary-lake.js";

/** The lake of a process; another process intervenes just before each of its first commits. */
export function interruptedLake(
  folder: string,
  commits: number,
  between: () => Promise<unknown>,
): Lake & { readonly clock: VirtualClock } {
  const own = folderStorage(folder);
  let left = commits;
  const storage: Storage = {
    ...own,
    putIfAbsent: async (path, text) => {
      if (left-- > 0) await between();
      return own.putIfAbsent(path, text);
    },
  };
  const clock = virtualClock(T0);
  return Object.assign(new Lake(folder, { storage, clock, hasDatabase: false }), { clock });
}
