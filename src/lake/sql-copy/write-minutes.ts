import { basename } from "node:path";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { hashOf } from "../../db/views/raw-view.js";
import { rowsOfFiles } from "../files/prune.js";
import { verifyContent } from "../files/verify/verify-content.js";
import type { Lake } from "../lake.js";
import { viewsKey } from "../lake-views.js";
import type { Snapshot } from "../log/snapshot.js";
import { type AttachedCopy, attachSqlCopy } from "./attach-sql-copy.js";
import { BARS_TABLES, MINUTES_TABLE, ODD_DAYS, ODD_MINUTES } from "./copied-bars.js";
import { MINUTE_BYTES, type Month, monthsOf } from "./copied-months.js";
import { COPIES, COPY_FORMAT, COPY_SUFFIX, type SqlCopyFile } from "./sql-copy.js";

const { database } = COPIES.minutes;
/** The table of the months of a copy, with their keys. */
const MONTHS = "months";

/**
 * A high or a low with which the highest price, adjusted, may not be the highest adjusted price: an adjustment does not
 * change 0.
 */
const IS_ODD = ["high", "low"]
  .map((name) => `stated_price(${name}, close)`)
  .map((price) => `${price} <= 0 OR NOT isfinite(${price})`)
  .join(" OR ");

/** The name of an attached copy of another state. */
const OLDER = "barlake_older_minutes";

/** A copy of another state that has some of the rows of a copy. */
export interface OlderCopy extends AttachedCopy {
  /** Estimated bytes of the copy that is made from it. Deleted rows leave free blocks in the file. */
  readonly nextBytes: number;
}

/**
 * The newest of other copies, if some months of it have the files that they have now.
 *
 * @param paths the newest first.
 * @param maxBytes of the copy that is made from it.
 */
export async function olderMinutes(
  session: Session,
  copy: SqlCopyFile,
  [path]: readonly string[],
  maxBytes: number,
): Promise<OlderCopy | undefined> {
  const file = path && { ...copy, path, key: basename(path, COPY_SUFFIX) };
  const older = file ? await attachSqlCopy(session, file, OLDER) : undefined;
  if (older === undefined) return undefined;
  const known = await keysIn(session, OLDER).catch(() => new Map<string, string>());
  await session.run(`DETACH ${OLDER}`);
  const months = monthsIn(copy);
  const read = months.filter(({ first, key }) => known.get(first) !== key);
  const rows = rowsOfFiles(read.flatMap(({ files }) => files));
  const nextBytes = older.bytes + rows * MINUTE_BYTES;
  if (read.length < months.length && nextBytes <= maxBytes) return { ...older, nextBytes };
  older[Symbol.dispose]();
  return undefined;
}

/**
 * Writes minutes, and the bars of longer periods, into an attached copy: of each period those that `adjusted` gives
 * without adjustment, sorted by symbol and time in each month. The bars of a symbol's day with a price of 0 or less are
 * left out; its minutes are in a separate table, too. Rows are read from the data files, which are verified.
 *
 * @param session reads the lake's views.
 * @param isOlder whether the copy has the rows of an older state: those of months whose files are the same remain.
 * @returns whether a day was left out.
 */
export async function writeMinutes(
  lake: Lake,
  session: Session,
  copy: SqlCopyFile,
  { isOlder, signal }: { readonly isOlder: boolean; readonly signal: AbortSignal },
): Promise<boolean> {
  if (!isOlder) await createTables(session);
  const known = await keysIn(session, database);
  const months = monthsIn(copy);
  const keys = new Map(months.map(({ first, key }) => [first, key]));
  for (const [first, key] of known) if (keys.get(first) !== key) await removeMonth(session, first);
  for (const month of months) {
    signal.throwIfAborted();
    if (known.get(month.first) !== month.key)
      await readMonth(lake, session, copy.bars.snapshot, month, signal);
  }
  const [found] = await session.json<{ has_odd: boolean }>(
    `SELECT count(*) > 0 AS has_odd FROM ${database}.${ODD_DAYS}`,
  );
  return found?.has_odd === true;
}

/** A month in a copy, with a text that identifies the files and the views that its rows follow from. */
interface MonthInCopy extends Month {
  readonly key: string;
}

/** The months of a copy, the oldest first: rows then have about the order of the files, as in a query without ORDER BY. */
function monthsIn({ bars: { snapshot, files } }: SqlCopyFile): readonly MonthInCopy[] {
  const { table, columns } = snapshot;
  const months = [...(monthsOf(table, files) ?? [])].reverse();
  return months.map((month) => {
    const paths = month.files.map(({ path }) => path).sort();
    return { ...month, key: hashOf([COPY_FORMAT, viewsKey(), JSON.stringify([table.name, columns, paths])]) };
  });
}

/** The keys of the months of an attached copy, by first date. */
async function keysIn(session: Session, name: string): Promise<Map<string, string>> {
  const rows = await session.json<{ first: string; key: string }>(
    `SELECT CAST(first AS VARCHAR) AS first, key FROM ${name}.${MONTHS}`,
  );
  return new Map(rows.map(({ first, key }) => [first, key]));
}

async function createTables(session: Session): Promise<void> {
  const sources: Readonly<Record<string, string>> = {
    [MINUTES_TABLE]: "FROM raw.bars_1m",
    [ODD_MINUTES]: "FROM raw.bars_1m",
    [ODD_DAYS]: "SELECT symbol, trade_date FROM raw.bars_1m",
    [MONTHS]: "SELECT trade_date AS first, symbol AS key FROM raw.bars_1m",
  };
  for (const [name, query] of Object.entries(sources))
    await session.run(`CREATE TABLE ${database}.${ident(name)} AS ${query} WITH NO DATA`);
  for (const [period, name] of BARS_TABLES)
    await session.run(
      `CREATE TABLE ${database}.${ident(name)} AS FROM adjusted(${literal(period)}, 'none') WITH NO DATA`,
    );
}

/** Deletes what follows from the files of a month. */
async function removeMonth(session: Session, first: string): Promise<void> {
  const inMonth = `date_trunc('month', trade_date) = DATE ${literal(first)}`;
  for (const name of [MINUTES_TABLE, ODD_MINUTES, ODD_DAYS, ...BARS_TABLES.values()])
    await session.run(`DELETE FROM ${database}.${ident(name)} WHERE ${inMonth}`);
  await session.run(`DELETE FROM ${database}.${MONTHS} WHERE first = DATE ${literal(first)}`);
}

async function readMonth(
  lake: Lake,
  session: Session,
  snapshot: Snapshot,
  month: MonthInCopy,
  signal: AbortSignal,
): Promise<void> {
  // Files are verified even if this process did so before: they may be damaged since, and a copy would preserve the
  // damage.
  await verifyContent(lake, snapshot, month.files, signal);
  const insert = (name: string, query: string): Promise<unknown> =>
    session.run(`INSERT INTO ${database}.${ident(name)} ${query}`);
  const minutes = `${database}.${MINUTES_TABLE}`;
  await insert(MINUTES_TABLE, await parquetRelation(session, lake.filesOf(snapshot, month.files)));
  await insert(
    ODD_DAYS,
    `SELECT DISTINCT symbol, trade_date FROM ${minutes} WHERE ${isOf(month)} AND (${IS_ODD})`,
  );
  const sameDay = `${database}.${ODD_DAYS} USING (symbol, trade_date)`;
  await insert(ODD_MINUTES, `FROM ${minutes} SEMI JOIN ${sameDay} WHERE ${isOf(month)}`);
  for (const [period, name] of BARS_TABLES)
    await insert(
      name,
      `WITH regular AS NOT MATERIALIZED (FROM ${minutes} ANTI JOIN ${sameDay} WHERE ${isOf(month)}),
         priced AS NOT MATERIALIZED (FROM unadjusted_bars('regular', true))
       FROM adjusted_minutes('priced', ${literal(period)}) ORDER BY symbol, "timestamp"`,
    );
  await insert(MONTHS, `VALUES (DATE ${literal(month.first)}, ${literal(month.key)})`);
}

function isOf({ first, next }: Month): string {
  return `trade_date >= DATE ${literal(first)} AND trade_date < DATE ${literal(next)}`;
}
