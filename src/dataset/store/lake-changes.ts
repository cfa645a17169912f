import { createHash } from "node:crypto";
import { dirname } from "node:path/posix";
import { isDeepStrictEqual } from "node:util";
import { LakeError, messageOf, UsageError } from "../../core/errors.js";
import { DAY_MS } from "../../core/time.js";
import { exTermsSql } from "../../db/market/ex-terms-sql.js";
import { ident, literal } from "../../db/quote.js";
import { interruptOn, type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { hashInName } from "../../lake/files/data-file.js";
import { statedTimes } from "../../lake/files/prune.js";
import { verifyOnce } from "../../lake/files/verify-content.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import { ENGINE } from "../../lake/log/commit-actions.js";
import { VersionGone } from "../../lake/log/log-files.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { openReader } from "../../lake/open-reader.js";
import { isStoreFault } from "../../lake/storage/store-fault.js";
import { basePeriod } from "../../market/period.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { isStatementName } from "../../schema/statements.js";
import { TABLES } from "../../schema/tables.js";
import { type DatasetSpec, isIntraday } from "../spec.js";
import { type Manifest, readManifest } from "./manifest.js";

/**
 * The digest of a table's content: of the partitions of its data files, and of the hashes in their names, or the names,
 * of files of another program.
 */
function sourceDigest({ files }: Snapshot): string {
  const contents = Array.from(files.keys(), (path) => [dirname(path), hashInName(path) ?? path].join("/"));
  return createHash("sha256").update(JSON.stringify(contents.sort())).digest("hex");
}

export function sourcesOf(snapshots: readonly Snapshot[]): Record<string, string> {
  const committed = snapshots.filter(({ version }) => version >= 0);
  return Object.fromEntries(committed.map((snapshot) => [snapshot.table.name, sourceDigest(snapshot)]));
}

/** Changes of a table since a dataset was built, limited to the dataset's days and symbols. */
export interface TableChange {
  readonly table: string;
  /** The version that the dataset was built from, and the version that it is compared with. */
  readonly from: number;
  readonly to: number;
  /** Number of old rows that changed or are gone, and of rows that changed or are new; undefined if unknown. */
  readonly was: number | undefined;
  readonly isNow: number | undefined;
  readonly examples: readonly string[];
  readonly fault: string | undefined;
}

interface ComparisonOptions {
  /** The state of the lake. @default the newest */
  readonly pointInTime?: PointInTime | undefined;
  /** That state, where it was read before: the lake may have got newer versions since. @default it is read */
  readonly snapshots?: readonly Snapshot[] | undefined;
  /** Most memory that DuckDB may use. @default "1GB" */
  readonly memoryLimit?: string | undefined;
  /** Ends the comparison, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares the rows that a dataset was built from with the lake's current rows. Rows of later days, and rows that only
 * moved to other files, are not changes. Of bars and statements, only changed files are read. Where a version is not
 * that of the dataset's lake, or cannot be read, what changed is unknown. @throws the error of a store that is not
 * well.
 */
export async function changesSince(
  lake: Lake,
  manifest: Manifest,
  { pointInTime = {}, snapshots = [], memoryLimit = "1GB", signal }: ComparisonOptions = {},
): Promise<TableChange[]> {
  const { session } = await openReader(lake, { memoryLimit }, pointInTime);
  using reader = session;
  using _ = interruptOn(reader, signal);
  await using symbols = new TempTable(reader, "dataset_symbols");
  // One text takes a fraction of the time of thousands.
  const own = `SELECT unnest(string_split(${literal(manifest.symbols.join(","))}, ',')) AS symbol`;
  await symbols.fill(`WITH own AS MATERIALIZED (${own})
    FROM own UNION SELECT symbol FROM symbol_names() WHERE name IN (FROM own)`);
  const changes: TableChange[] = [];
  for (const table of TABLES) {
    const part = partOf(table, manifest, symbols.name);
    // An earlier version of this program did not adjust prices by actions: to it these tables were empty.
    const from = manifest.tables[table.name] ?? (isAction(table) ? -1 : undefined);
    if (part === undefined || from === undefined) continue;
    const read = snapshots.find((one) => one.table === table);
    const now = read ?? (await lake.snapshotAt(table, pointInTime));
    const change = {
      table: table.name,
      from,
      to: now.version,
      was: 0,
      isNow: 0,
      examples: [],
      fault: undefined,
    };
    signal?.throwIfAborted();
    try {
      const before = await snapshotOf(lake, table, from, now);
      expectSource(before, manifest.sources?.[table.name]);
      if (now.version === from) continue;
      changes.push({ ...change, ...(await compare(reader, lake, table, part, before, now)) });
    } catch (error) {
      signal?.throwIfAborted();
      // A store that is not well says nothing about the version.
      if (isStoreFault(error)) throw error;
      changes.push({ ...change, was: undefined, isNow: undefined, fault: messageOf(error) });
    }
  }
  return changes;
}

/** A version of a table; undefined before its first commit. */
async function snapshotOf(
  lake: Lake,
  table: TableSchema,
  version: number,
  now: Snapshot,
): Promise<Snapshot | undefined> {
  if (version < 0) return undefined;
  return version === now.version
    ? now
    : await lake.snapshotAt(table, { versions: new Map([[table.name, version]]) });
}

const OTHER_ROWS =
  "under the version that the dataset was built from there are other rows: the lake is another one, or was made again";

/** @param digest of the version that the dataset was built from; undefined where it is not known. */
function expectSource(before: Snapshot | undefined, digest: string | undefined): void {
  if (before === undefined || digest === undefined || sourceDigest(before) === digest) return;
  throw new LakeError(OTHER_ROWS);
}

interface Part {
  readonly where: string;
  /** SQL of a short text that describes a row. */
  readonly label: string;
  /** SQL of the columns that are not compared unchanged. */
  readonly columns?: Readonly<Record<string, string>>;
  readonly isWhole: boolean;
  /** SQL of what is compared instead of the rows, with the columns of the label and the condition. */
  readonly of?: (rows: string) => string;
  /** SQL condition on the rows that differ: others change nothing of the dataset. */
  readonly matters?: string;
}

/** Whether sources say in a table that price levels change. */
function isAction(table: TableSchema): boolean {
  return table === EX_FACTORS || table === CORPORATE_ACTIONS;
}

function partOf(schema: TableSchema, { spec, last }: Manifest, symbols: string): Part | undefined {
  const { name } = schema;
  const end = `DATE ${literal(last)}`;
  const ofDataset = `symbol IN (SELECT symbol FROM ${symbols})`;
  if (name === `bars_${basePeriod(spec.period)}` || name === "bars_1d")
    return {
      where: `${ofDataset} AND trade_date <= ${end}`,
      label: "symbol || ' ' || trade_date",
      isWhole: false,
    };
  if (name === "trading_days")
    return { where: `trade_date <= ${end}`, label: "region || ' ' || trade_date", isWhole: false };
  if (name === ABSENCES_1D.name)
    return {
      where: `${ofDataset} AND first_date <= ${end}`,
      label: "symbol || ' ' || first_date",
      isWhole: true,
      // Stretches grow over holidays, and join over them: only sessions say something, and only those before a bar.
      of: (rows) => `SELECT DISTINCT a.symbol, d.trade_date AS first_date, d.trade_date AS last_date, a.region
        FROM (${rows}) AS a
        JOIN raw.trading_days AS d ON d.region = a.region AND d.trade_date BETWEEN a.first_date AND a.last_date`,
      matters: `first_date < (SELECT max(b.trade_date) FROM raw.bars_1d AS b WHERE b.symbol = one.symbol AND b.trade_date <= ${end})`,
    };
  if (isAction(schema)) {
    const none = (table: TableSchema): string => `(FROM raw.${table.name} LIMIT 0)`;
    const terms = (rows: string): string =>
      schema === EX_FACTORS ? exTermsSql(none(CORPORATE_ACTIONS), rows) : exTermsSql(rows, none(EX_FACTORS));
    return {
      where: `${ofDataset} AND ex_date <= ${end}`,
      label: "symbol || ' ' || ex_date",
      isWhole: true,
      // Of several sources one counts.
      of: (rows) => `SELECT symbol, ex_date, shares, paid FROM (${terms(`(${rows})`)}) WHERE priority = 1`,
      // An ex-date counts from the next bar on.
      matters: `ex_date <= (SELECT max(b.trade_date) FROM raw.bars_1d AS b WHERE b.symbol = one.symbol AND b.trade_date <= ${end})`,
    };
  }
  // Which bars are an instrument's, and under which name.
  if (name === SYMBOL_CHANGES.name)
    return {
      where: `${ofDataset} OR new_symbol IN (SELECT symbol FROM ${symbols})`,
      label: "symbol || ' ' || from_date",
      isWhole: true,
    };
  if (isStatementName(name)) {
    const isFirst =
      "first_seen_at = min(first_seen_at) OVER (PARTITION BY symbol, period_end, announce_date)";
    const known = `local_date(first_seen_at, region) <= ${end} OR (announce_date <= ${end} AND ${isFirst})`;
    return { where: `${ofDataset} QUALIFY ${known}`, label: "symbol || ' ' || period_end", isWhole: true };
  }
  if (name === "instruments") return validityPart("symbol", ofDataset, end);
  if (name === "universe_members" && typeof spec.universe === "string")
    return validityPart("id", `id = ${literal(spec.universe)}`, end);
  return undefined;
}

/** The part of a table with validity periods: rows that were known by a date, and the first row of each id. */
function validityPart(id: string, where: string, end: string): Part {
  const isFirst = `valid_from = min(valid_from) OVER (PARTITION BY ${id})`;
  return {
    where: `${where} QUALIFY ${isFirst} OR local_date(valid_from, region) <= ${end}`,
    label: "symbol || ' ' || local_date(valid_from, region)",
    columns: { valid_to: `CASE WHEN local_date(valid_to, region) <= ${end} THEN valid_to END` },
    isWhole: true,
  };
}

async function compare(
  session: Session,
  lake: Lake,
  table: TableSchema,
  part: Part,
  before: Snapshot | undefined,
  now: Snapshot,
): Promise<Pick<TableChange, "was" | "isNow" | "examples">> {
  const [was, isNow] = [
    filesOnlyIn(before, part.isWhole ? undefined : now),
    filesOnlyIn(now, part.isWhole ? undefined : before),
  ];
  const rows = async (snapshot: Snapshot, files: readonly DataFile[]): Promise<string> => {
    const columns = table.columns.map(({ name }) => {
      const sql = part.columns?.[name];
      return sql === undefined ? ident(name) : `${sql} AS ${ident(name)}`;
    });
    const relation = await parquetRelation(session, lake.filesOf(snapshot, files));
    const own = `SELECT ${columns.join(", ")} FROM (${relation}) WHERE ${part.where}`;
    return part.of?.(own) ?? own;
  };
  await using rowsBefore = new TempTable(session, "rows_before");
  await using rowsNow = new TempTable(session, "rows_now");
  await rowsBefore.fill(await rows(before ?? now, was));
  await rowsNow.fill(await rows(now, isNow));
  const only = (one: TempTable, other: TempTable): string =>
    `FROM (FROM ${one.name} EXCEPT ALL FROM ${other.name}) AS one WHERE ${part.matters ?? "true"}`;
  const [counts] = await session.json<{ was: number; is_now: number }>(
    `SELECT CAST((SELECT count(*) FROM (${only(rowsBefore, rowsNow)})) AS DOUBLE) AS was,
       CAST((SELECT count(*) FROM (${only(rowsNow, rowsBefore)})) AS DOUBLE) AS is_now`,
  );
  const examples = await session.json<{ label: string }>(
    `SELECT DISTINCT ${part.label} AS label FROM ((${only(rowsBefore, rowsNow)}) UNION ALL (${only(rowsNow, rowsBefore)})) ORDER BY label LIMIT 3`,
  );
  return { was: counts?.was, isNow: counts?.is_now, examples: examples.map(({ label }) => label) };
}

/** Files of one version that are not in another; all files where there is no other version. */
function filesOnlyIn(one: Snapshot | undefined, other: Snapshot | undefined): DataFile[] {
  return [...(one?.files.values() ?? [])].filter(({ path }) => other?.files.has(path) !== true);
}

/** Whether a change affects, or may affect, days of the dataset. */
export function isOfPast({ was, isNow }: TableChange): boolean {
  return was !== 0 || isNow !== 0;
}

/** A short description of changes. Tables of which nothing is known for the same reason share a sentence. */
export function changesText(changes: readonly TableChange[]): string {
  const unknown = changes.filter(isUnknown);
  const faults = new Set(unknown.map(({ fault }) => fault));
  return [
    ...changes.filter((change) => !isUnknown(change)).map(changeText),
    ...Array.from(faults, (fault) => {
      const of = unknown.filter((change) => change.fault === fault);
      const tables = of.map(versionsText).join(", ");
      return `${tables}; what changed in ${of.length === 1 ? "it" : "them"} cannot be determined: ${fault}`;
    }),
  ].join("; ");
}

function isUnknown({ was, isNow }: TableChange): boolean {
  return was === undefined || isNow === undefined;
}

function changeText(change: TableChange): string {
  const { was, isNow, examples } = change;
  if (was === 0 && isNow === 0) return `${versionsText(change)}: nothing of the dataset's days changed`;
  return `${versionsText(change)}: ${was} rows of the dataset's days are no longer as they were, ${isNow} are new or otherwise (${examples.join(", ")})`;
}

function versionsText({ table, from, to }: TableChange): string {
  return from === to ? `${table} is at version ${to}` : `${table} went from version ${from} to ${to}`;
}

/**
 * Verifies the files that a dataset is built from by the hashes in their names: the dataset gets its own digests, so
 * that damage in its sources would never be found later. Minute bars are verified if the dataset, or the query of its
 * universe, can read them; the tables about runs never are. @param options.bars the files of daily bars that are
 * verified. @default all @throws {LakeError} naming the first file that is missing or damaged.
 */
export async function verifySources(
  lake: Lake,
  snapshots: readonly Snapshot[],
  spec: DatasetSpec,
  {
    signal,
    bars = () => true,
  }: {
    readonly signal?: AbortSignal | undefined;
    readonly bars?: ((file: DataFile) => boolean) | undefined;
  } = {},
): Promise<void> {
  const readsMinutes = isIntraday(spec) || (typeof spec.universe === "object" && "sql" in spec.universe);
  for (const snapshot of snapshots) {
    const { table, files } = snapshot;
    if (table === REQUESTS || table === RUNS || (table === BARS_1M && !readsMinutes)) continue;
    const some = table === BARS_1D ? [...files.values()].filter(bars) : files.values();
    await verifyOnce(lake, snapshot, some, signal);
  }
}

/**
 * The files of daily bars that a dataset was not built from; all where its version of them is gone. @param snapshots
 * the tables that are read now. @throws {Error} where the dataset's version may exist, and is not readable.
 */
export async function barsSince(
  lake: Lake,
  { tables }: Manifest,
  snapshots: readonly Snapshot[],
): Promise<(file: DataFile) => boolean> {
  const version = tables[BARS_1D.name] ?? -1;
  const now = snapshots.find(({ table }) => table === BARS_1D);
  if (now?.version === version) return () => false;
  if (version < 0) return () => true;
  const before = await lake
    .snapshotAt(BARS_1D, { versions: new Map([[BARS_1D.name, version]]) })
    .catch((error: unknown) => {
      if (error instanceof VersionGone) return undefined;
      throw error;
    });
  return ({ path }) => before?.files.has(path) !== true;
}

/**
 * The files that may have bars of a day (since 1970-01-01) or of later ones. The time of a daily bar is the beginning
 * of its date in the zone of its region, less than a day from that in UTC.
 */
export function barsFrom(day: number): (file: DataFile) => boolean {
  return (file) => {
    const times = statedTimes(file, "timestamp");
    return times === undefined || times.end > (day - 1) * DAY_MS;
  };
}

const REPLACE_HINT = '`existing: "replace"` builds it again';

/**
 * Checks that new days can be added to a dataset without changing any of its existing days. @throws {UsageError} where
 * they would change: another spec, forward prices, or changes in the lake since.
 */
export async function refuseChangedPast(
  lake: Lake,
  spec: DatasetSpec,
  folder: string,
  options: ComparisonOptions,
): Promise<Manifest> {
  const manifest = await readManifest(lake.storageAt(folder));
  const subject = `dataset ${spec.name}: cannot be appended to`;
  if (spec.adjustment.startsWith("forward")) {
    throw new UsageError(`${subject}: forward prices of every day change with each new ex-date`, {
      hint: 'choose adjustment "backward", whose prices do not change; or `existing: "replace"`',
    });
  }
  const changed = fieldsThatDiffer(manifest.spec, spec);
  if (changed.length > 0)
    throw new UsageError(`${subject}: its spec had another ${changed.join(", ")}`, { hint: REPLACE_HINT });
  if (manifest.engine !== ENGINE)
    throw new UsageError(`${subject}: it was made by ${manifest.engine}, and this is ${ENGINE}`, {
      hint: REPLACE_HINT,
    });
  const past = (await changesSince(lake, manifest, options)).filter(isOfPast);
  if (past.length > 0) {
    const what = past.every(isUnknown) ? "" : "the lake has changed its days since: ";
    throw new UsageError(`${subject}: ${what}${changesText(past)}`, { hint: REPLACE_HINT });
  }
  return manifest;
}

/** Fields that differ between two specs and affect existing days. */
function fieldsThatDiffer(was: DatasetSpec, is: DatasetSpec): string[] {
  const may: readonly string[] = ["doc", "to", "output"];
  const names = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...names].filter((name) => {
    const [before, now] = [was, is].map((spec) => (spec as Readonly<Record<string, unknown>>)[name]);
    return !may.includes(name) && !isDeepStrictEqual(plain(before), plain(now));
  });
}

/** A value as it is after a round trip through JSON. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
