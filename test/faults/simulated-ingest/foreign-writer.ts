import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MINUTE_MS } from "../../../src/core/time.js";
import { ident, literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import { Lake } from "../../../src/lake/lake.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { removeAction } from "../../../src/lake/log/commit-actions.js";
import type { Action, AddFile } from "../../../src/lake/log/delta-actions.js";
import { commitFile, listLog } from "../../../src/lake/log/log-files.js";
import { type DataFile, encodePath, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { isDataFile } from "../../../src/lake/maintenance/vacuum.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { REQUESTS } from "../../../src/schema/runs.js";
import { integer } from "../../../src/sim/random.js";
import type { SymbolTime } from "./findings/symbol-time.js";

/** Another engine's operations during a run: it adds and deletes rows, and replaces files and log entries. */
export const INTRUSIONS = ["append", "delete", "compact", "checkpoint", "clean log"] as const;
/** Its operations between two runs: it also deletes the files that only old versions use. */
export const ACTS = [...INTRUSIONS, "vacuum"] as const;
export type Act = (typeof ACTS)[number];

/** The changes of an operation. */
export interface Done {
  readonly table: string;
  readonly added?: { readonly symbol: string; readonly rows: number };
  readonly deleted?: SymbolTime;
}

/** Prefix of the other engine's own symbols: no market has them. */
export const FOREIGN = "69";
const MOST_TRIES = 20;

/** Another Delta engine that writes to a lake. It knows only the lake's files, not the process that uses them. */
export class ForeignWriter {
  readonly #folder: string;
  readonly #random: number;
  #drawn = 0;

  constructor(folder: string, random: number) {
    this.#folder = folder;
    this.#random = random;
  }

  /** @param now epoch milliseconds. @returns an empty list if there was nothing to change. */
  async act(act: Act, now: number): Promise<Done[]> {
    using session = await Session.open({ threads: 1 });
    const done: Done[] = [];
    for (const table of [BARS_1D, BARS_1M, REQUESTS]) {
      const parts = { session, table, now };
      const isBars = table !== REQUESTS;
      const one = await this.#actOn(act, parts, isBars);
      if (one !== undefined) done.push({ ...one, table: table.name });
    }
    return done;
  }

  async #actOn(act: Act, parts: Parts, isBars: boolean): Promise<Omit<Done, "table"> | undefined> {
    switch (act) {
      case "append":
        return isBars ? this.#append(parts) : undefined;
      case "delete":
        return isBars ? this.#delete(parts) : undefined;
      case "compact":
        return this.#compact(parts);
      case "checkpoint":
        return this.#checkpoint(parts);
      case "clean log":
        return this.#cleanLog(parts);
      case "vacuum":
        return this.#vacuum(parts);
    }
  }

  /** Adds rows of the engine's own symbol: copies of existing rows. */
  async #append(parts: Parts): Promise<Omit<Done, "table"> | undefined> {
    const symbol = `${FOREIGN}${String(integer(this.#random, this.#drawn++, 10_000)).padStart(4, "0")}.SH`;
    let rows = 0;
    const isDone = await this.#commit(parts, async (base, lake) => {
      const file = this.#oneOf([...base.files.values()].filter((one) => one.partitionValues.region === "CN"));
      if (file === undefined) return [];
      const source = await parquetRelation(parts.session, lake.filesOf(base, [file]));
      const [known] = await parts.session.json<{ n: number }>(
        `SELECT count(*)::INT AS n FROM (${await parquetRelation(parts.session, lake.filesOf(base))}) WHERE symbol = ${literal(symbol)}`,
      );
      if (known?.n !== 0) return [];
      const copies = `SELECT * REPLACE (${literal(symbol)} AS symbol) FROM (${source})
        QUALIFY row_number() OVER (PARTITION BY timestamp ORDER BY symbol) = 1 ORDER BY timestamp LIMIT 5`;
      const add = await this.#write(parts, base, copies, file);
      rows = add.rows;
      return [add.action];
    });
    return isDone ? { added: { symbol, rows } } : undefined;
  }

  /** Deletes an hour of a symbol's rows: files without other rows are removed, the others are written again. */
  async #delete(parts: Parts): Promise<Omit<Done, "table"> | undefined> {
    const { session, now } = parts;
    let deleted: SymbolTime | undefined;
    const isDone = await this.#commit(parts, async (base, lake) => {
      const all = await parquetRelation(session, lake.filesOf(base), { withFile: true });
      const rows = await session.json<{ symbol: string; at: number }>(
        `SELECT symbol, epoch_ms(timestamp)::DOUBLE AS at FROM (${all}) WHERE symbol NOT LIKE '${FOREIGN}%' ORDER BY timestamp, symbol`,
      );
      const row = this.#oneOf(rows);
      if (row === undefined) return [];
      deleted = { symbol: row.symbol, start: row.at, end: row.at + 60 * MINUTE_MS };
      const isDeleted = `symbol = ${literal(row.symbol)} AND epoch_ms(timestamp) >= ${row.at} AND epoch_ms(timestamp) < ${deleted.end}`;
      const touched = await session.json<{ live_file: string; n: number }>(
        `SELECT live_file, count(*) FILTER (NOT (${isDeleted}))::INT AS n FROM (${all}) GROUP BY live_file HAVING bool_or(${isDeleted})`,
      );
      const actions: Action[] = [];
      for (const { live_file: url, n } of touched) {
        const file = [...base.files.values()].find((one) => lake.urlOf(base, one) === url) as DataFile;
        actions.push(removeAction(file, { now, dataChange: true }));
        const left = `SELECT * FROM (${await parquetRelation(session, lake.filesOf(base, [file]))}) WHERE NOT (${isDeleted})`;
        if (n > 0) actions.push((await this.#write(parts, base, left, file)).action);
      }
      return actions;
    });
    return isDone && deleted !== undefined ? { deleted } : undefined;
  }

  /** Merges the rows of a partition into one file. */
  async #compact(parts: Parts): Promise<Omit<Done, "table"> | undefined> {
    const isDone = await this.#commit(parts, async (base, lake) => {
      const one = this.#oneOf([...base.files.values()]);
      const own = [...base.files.values()].filter((file) => hasSameValues(file, one as DataFile));
      if (one === undefined || own.length < 2) return [];
      const rows = `SELECT * FROM (${await parquetRelation(parts.session, lake.filesOf(base, own))})`;
      const { action } = await this.#write(parts, base, rows, one);
      const removes = own.map((file) => removeAction(file, { now: parts.now, dataChange: false }));
      return [...removes, { add: { ...action.add, dataChange: false } }];
    });
    return isDone ? {} : undefined;
  }

  async #checkpoint({ table, now }: Parts): Promise<Omit<Done, "table"> | undefined> {
    const lake = new Lake(this.#folder);
    const snapshot = await lake.snapshot(table);
    if (snapshot.version < 0) return undefined;
    await writeCheckpoint(lake, snapshot, now);
    return {};
  }

  /** Writes a checkpoint, and deletes earlier commits and checkpoints; sometimes the checkpoint's own commit, too. */
  async #cleanLog(parts: Parts): Promise<Omit<Done, "table"> | undefined> {
    const { table } = parts;
    await this.#checkpoint(parts);
    const lake = new Lake(this.#folder);
    const { commits, checkpoints } = await listLog(lake.storage, table.name);
    const newest = checkpoints.at(-1);
    if (newest === undefined) return undefined;
    const end = newest.version + integer(this.#random, this.#drawn++, 2);
    const old = commits.filter((version) => version < end).map((version) => commitFile(table.name, version));
    if (old.length === 0) return undefined;
    for (const path of [...checkpoints.slice(0, -1).flatMap(({ paths }) => paths), ...old])
      rmSync(join(this.#folder, path));
    return {};
  }

  /** Deletes the files that the newest version does not use, however young they are. */
  async #vacuum({ table }: Parts): Promise<Omit<Done, "table"> | undefined> {
    const { version, files } = await new Lake(this.#folder).snapshot(table);
    if (version < 0) return undefined;
    const folder = join(this.#folder, table.name);
    const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const old = paths.filter((path) => path.endsWith(".parquet") && isDataFile(path) && !files.has(path));
    for (const path of old) rmSync(join(folder, path));
    return old.length > 0 ? {} : undefined;
  }

  /** Writes rows as a file of a partition, with a name as in other engines, and few statistics or none. */
  async #write(
    { session, table, now }: Parts,
    { columns }: Snapshot,
    rows: string,
    { partitionValues, path: like }: DataFile,
  ): Promise<{ readonly action: { readonly add: AddFile }; readonly rows: number }> {
    const path = `${dirname(like)}/part-00000-${randomUUID()}-c000.zstd.parquet`;
    const file = join(this.#folder, table.name, path);
    const own = columns.filter(({ name }) => !table.partition.includes(name)).map(({ name }) => ident(name));
    mkdirSync(dirname(file), { recursive: true });
    await session.run(
      `COPY (SELECT ${own.join(", ")} FROM (${rows})) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    const [counted] = await session.json<{ n: number }>(
      `SELECT count(*)::INT AS n FROM read_parquet(${literal(file)}, hive_partitioning = false)`,
    );
    const n = counted?.n ?? 0;
    const stats =
      integer(this.#random, this.#drawn++, 2) === 0 ? { stats: JSON.stringify({ numRecords: n }) } : {};
    const size = statSync(file).size;
    const add = {
      path: encodePath(path),
      partitionValues,
      size,
      modificationTime: now,
      dataChange: true,
      ...stats,
    };
    return { action: { add }, rows: n };
  }

  /** Commits actions as the next version. @returns whether there were any. */
  async #commit(
    { table, now }: Parts,
    make: (base: Snapshot, lake: Lake) => Promise<Action[]>,
  ): Promise<boolean> {
    for (let attempt = 1; attempt <= MOST_TRIES; attempt++) {
      const lake = new Lake(this.#folder);
      const base = await lake.snapshot(table);
      const actions = base.version < 0 ? [] : await make(base, lake);
      if (actions.length === 0) return false;
      const info = { commitInfo: { timestamp: now, engineInfo: "another engine" } };
      const text = [info, ...actions].map((action) => `${JSON.stringify(action)}\n`).join("");
      if (this.#publish(commitFile(table.name, base.version + 1), text)) return true;
    }
    return false;
  }

  /** Creates a file atomically, only if it does not exist yet. */
  #publish(path: string, text: string): boolean {
    const draft = join(this.#folder, `${path}.${randomUUID()}.tmp`);
    writeFileSync(draft, text);
    try {
      linkSync(draft, join(this.#folder, path));
      return true;
    } catch {
      return false;
    } finally {
      rmSync(draft);
    }
  }

  #oneOf<T>(choices: readonly T[]): T | undefined {
    return choices[integer(this.#random, this.#drawn++, choices.length)];
  }
}

interface Parts {
  readonly session: Session;
  readonly table: TableSchema;
  /** Epoch milliseconds. */
  readonly now: number;
}

function hasSameValues(a: DataFile, b: DataFile): boolean {
  return JSON.stringify(a.partitionValues) === JSON.stringify(b.partitionValues);
}
