import pMap from "p-map";
import type { TimeRange } from "../../../core/time.js";
import { selectFiles } from "../../../lake/files/prune.js";
import { verifyContent } from "../../../lake/files/verify-content.js";
import type { Lake } from "../../../lake/lake.js";
import { expectWritable } from "../../../lake/local/durable-file.js";
import type { DataFile, Snapshot } from "../../../lake/log/snapshot.js";
import { spoolFolder } from "../../../lake/requests/response-spool.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { calendarSpans } from "../../../market/trading-calendar.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { REQUESTS, RUNS } from "../../../schema/runs.js";
import type { Purpose } from "./request-records.js";

/** Tables with so many rows that a landing reads only some of their files. */
const LARGE: ReadonlySet<TableSchema> = new Set([BARS_1D, BARS_1M, REQUESTS, RUNS]);
/** Files that are verified at the same time. */
const PARALLEL = 4;

/**
 * The tables in which a run lands. It makes sure, before a request is sent and paid for, that its response can be landed.
 * Each file and folder is checked once in a run.
 */
export class LandingPlace {
  readonly #lake: Lake;
  readonly #tables: readonly TableSchema[];
  readonly #signal: AbortSignal;
  #opened: Promise<ReadonlyMap<string, Snapshot>> | undefined;
  readonly #checked = new Map<string, Promise<void>>();

  /** @param signal ends the comparison of files, also within a file; its reason is thrown. */
  constructor(lake: Lake, tables: readonly TableSchema[], signal: AbortSignal) {
    this.#lake = lake;
    this.#tables = tables;
    this.#signal = signal;
  }

  /**
   * Makes sure that the logs of all tables can be read, that their folders and that of received responses can be written,
   * and that the files with which the response will be compared are intact. Other files of bars may be damaged or
   * missing: the response lands, and the run ends with their error.
   *
   * @throws {LakeError} for the first fault.
   */
  async expectUsable({ dataset, symbols, window }: Purpose): Promise<void> {
    this.#opened ??= this.#open();
    const snapshot = (await this.#opened).get(dataset);
    const region = regionOf(symbols[0] ?? "");
    if (snapshot === undefined || window === undefined || region === undefined) return;
    await this.#expectWritable(foldersOf(snapshot.table, region, window));
    const demand = { region, symbols: [...symbols].sort(), range: window };
    await this.#verify(snapshot, selectFiles(snapshot.files.values(), [demand]));
  }

  async #open(): Promise<ReadonlyMap<string, Snapshot>> {
    const { work } = this.#lake;
    for (const folder of [work.staging, spoolFolder(work)]) await expectWritable(folder);
    const snapshots = new Map<string, Snapshot>();
    for (const table of this.#tables) {
      const snapshot = await this.#lake.snapshot(table);
      snapshots.set(table.name, snapshot);
      await this.#expectWritable([table.name, `${table.name}/_delta_log`]);
      if (!LARGE.has(table)) await this.#verify(snapshot, [...snapshot.files.values()]);
    }
    return snapshots;
  }

  /** Checks folders of the lake; of a store there are none, and the lease of the run shows that it can be written. */
  async #expectWritable(folders: readonly string[]): Promise<void> {
    const { storage } = this.#lake;
    if (storage.access !== undefined) return;
    for (const folder of folders) await this.#once(folder, () => expectWritable(storage.urlOf(folder)));
  }

  async #verify(snapshot: Snapshot, files: readonly DataFile[]): Promise<void> {
    const { table } = snapshot;
    const verifyOne = async (file: DataFile): Promise<void> => {
      try {
        await verifyContent(this.#lake, snapshot, [file], this.#signal);
      } catch (error) {
        this.#signal.throwIfAborted();
        // Since the log was read, another process may have replaced the file, and deleted it.
        if ((await this.#lake.snapshot(table)).files.has(file.path)) throw error;
      }
    };
    await pMap(files, (file) => this.#once(`${table.name}/${file.path}`, () => verifyOne(file)), {
      concurrency: PARALLEL,
    });
  }

  #once(path: string, check: () => Promise<void>): Promise<void> {
    const checked = this.#checked.get(path) ?? check();
    this.#checked.set(path, checked);
    return checked;
  }
}

/** The folders of the partitions of a table of bars in which bars of a window land. */
function foldersOf({ name, span }: TableSchema, region: Region, window: TimeRange): string[] {
  if (span === undefined) return [];
  const spanOf = calendarSpans(REGIONS[region].zone, span.unit);
  const folders: string[] = [];
  for (let time = window.start; time < window.end; ) {
    const period = spanOf(time);
    const value = span.unit === "year" ? period.first.slice(0, 4) : period.first;
    folders.push(`${name}/region=${region}/${span.partition}=${value}`);
    time = period.end;
  }
  return folders;
}
