import { join } from "node:path";
import { Lake } from "../../../../src/lake/lake.js";
import { workFolder } from "../../../../src/lake/local/work-folder.js";
import { folderStorage } from "../../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../../src/lake/storage/storage.js";
import type { LeaseStore } from "../../../../src/lease/lease-store.js";
import { leasesAt } from "../../../lease/simulated-machine.js";
import type { EventClock } from "../../clock/event-clock.js";
import type { VirtualProcess } from "./virtual-process.js";

/** A commit to a table, and when it was made by the clock of the simulation. */
export interface MadeCommit {
  readonly table: string;
  readonly time: number;
  /** Paths of the data files that it added, relative to the lake. */
  readonly files: readonly string[];
}

/** A lake that the machines of a simulation share. */
export interface SharedLake {
  /** The lake as nothing of the simulation sees it. */
  readonly folder: string;
  readonly commits: readonly MadeCommit[];
  /** The lake as a process reaches it. */
  openFor(process: VirtualProcess): Lake;
}

/** Makes the lake. @param place a folder for it, and for the work folders of the machines. */
export function sharedLake(place: string, time: EventClock): SharedLake {
  const folder = join(place, "lake");
  const commits: MadeCommit[] = [];
  const leases = new Map<string, LeaseStore>();
  const leasesIn = (path: string): LeaseStore => {
    const store = leases.get(path) ?? leasesAt(time);
    leases.set(path, store);
    return store;
  };
  const note = (path: string, text: string): void => {
    const table = /^([^/]+)\/_delta_log\/\d+\.json$/.exec(path)?.[1];
    if (table !== undefined) commits.push({ table, time: time.now(), files: addedIn(table, text) });
  };
  return {
    folder,
    commits,
    openFor(process) {
      const work = workFolder(join(place, process.machine));
      const storage = reachedBy(process, folderStorage(folder), { leasesIn, note });
      return new Lake(work.path, { storage, work, clock: process.clock, hasDatabase: false });
    },
  };
}

function reachedBy(
  process: VirtualProcess,
  storage: Storage,
  { leasesIn, note }: { leasesIn: (path: string) => LeaseStore; note: (path: string, text: string) => void },
): Storage {
  const read =
    <P extends unknown[], T>(call: (...parameters: P) => Promise<T>) =>
    (...parameters: P): Promise<T> =>
      process.reachStore(false, () => call(...parameters));
  const write =
    <P extends unknown[], T>(call: (...parameters: P) => Promise<T>) =>
    (...parameters: P): Promise<T> =>
      process.reachStore(true, () => call(...parameters));
  return {
    ...storage,
    list: read((...all) => storage.list(...all)),
    walk: read((...all) => storage.walk(...all)),
    factsOf: read((...all) => storage.factsOf(...all)),
    readText: read((...all) => storage.readText(...all)),
    read: read((...all) => storage.read(...all)),
    readRange: read((...all) => storage.readRange(...all)),
    putIfAbsent: write(async (path, text) => {
      const isDone = await storage.putIfAbsent(path, text);
      if (isDone) note(path, text);
      return isDone;
    }),
    put: write((...all) => storage.put(...all)),
    putFileIfAbsent: write((...all) => storage.putFileIfAbsent(...all)),
    delete: write((...all) => storage.delete(...all)),
    time: read(() => storage.time()),
    leases(path) {
      const store = leasesIn(path);
      return {
        ids: read(() => store.ids()),
        read: read((...all) => store.read(...all)),
        create: read((id, text, state) => store.create(id, ownedBy(process, text), state)),
        renew: read((...all) => store.renew(...all)),
        remove: read((...all) => store.remove(...all)),
        now: read(() => store.now()),
        tidy: () => store.tidy(),
      };
    },
  };
}

/** The record of a lease whose owner is a process of another machine: all are one real process. */
function ownedBy(process: VirtualProcess, text: string): string {
  const content = JSON.parse(text) as { readonly machine?: string };
  if (content.machine === "ended") return text;
  return JSON.stringify({ ...content, host: process.machine, machine: process.name, pid: 1 });
}

function addedIn(table: string, text: string): string[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { readonly add?: { readonly path: string } })
    .flatMap(({ add }) => (add === undefined ? [] : [`${table}/${decodeURIComponent(add.path)}`]));
}
