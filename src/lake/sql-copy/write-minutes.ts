import { basename } from "node:path";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { hashOf } from "../../db/views/raw-view.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { viewsKey } from "../lake-views.js";
import { type AttachedCopy, attachSqlCopy } from "./attach-sql-copy.js";
import { BARS_TABLES, MINUTES_TABLE, ODD_DAYS, ODD_MINUTES } from "./copied-bars.js";
import { barsBytes, type Month, minuteBytes, monthsOf } from "./copied-months.js";
import { COPIES, COPY_FORMAT, COPY_SUFFIX, type SqlCopyFile } from "./sql-copy.js";

const { database } = COPIES.minutes;
/** The table of the months of a copy: their keys, and whether their minutes are in it. */
const MONTHS = "months";
/** A copy may take this times the space of one without deleted rows: their blocks are used for the months that are added. */
const MOST_GROWTH = 1.25;

/**
 * A high or a low with which the highest price, adjusted, may not be the highest adjusted price: an adjustment does not
 * change 0.
 */
const IS_ODD = ["high", "low"]
  .map((name) => `stated_price(${name}, close)`)
  .map((price) => `${price} <= 0 OR NOT isfinite(${price})`)
  .join(" OR ");

const OLDER = "barlake_older_minutes";

interface OlderCopy extends AttachedCopy {
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
  const known = await storedMonths(session, OLDER).catch(() => new Map<string, StoredMonth>());
  await session.run(`DETACH ${OLDER}`);
  const months = monthsIn(copy);
  const same = months.filter((month) => storedOf(month, known) !== undefined);
  const lacking = months.map((month) => {
    const stored = storedOf(month, known);
    const ofMinutes = lacksMinutes(month, stored) ? minuteBytes(month.files) : 0;
    return ofMinutes + (stored === undefined ? barsBytes(month.files) : 0);
  });
  const nextBytes = lacking.reduce((sum, bytes) => sum + bytes, older.bytes);
  if (same.length > 0 && nextBytes <= MOST_GROWTH * maxBytes) return { ...older, nextBytes };
  older[Symbol.dispose]();
  return undefined;
}

/**
 * Writes the bars of longer periods that minutes make, and minutes, into an attached copy: of each period the bars that
 * `adjusted` gives without adjustment, sorted by symbol and time in each month. The bars of a symbol's day with a price of
 * 0 or less are left out; its minutes are in a separate table. Rows are read from the data files, which are verified.
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
  const months = monthsIn(copy);
  const known = await storedMonths(session, database);
  await removeOthers(session, known, months);
  for (const month of months) {
    signal.throwIfAborted();
    await readMonth(lake, session, copy, month, { stored: storedOf(month, known), signal });
  }
  const rows = months.map(
    ({ first, key, hasMinutes }) => `(DATE ${literal(first)}, ${literal(key)}, ${hasMinutes})`,
  );
  await session.run(`DELETE FROM ${database}.${MONTHS}`);
  await insert(session, MONTHS, `VALUES ${rows.join(", ")}`);
  const [found] = await session.json<{ has_odd: boolean }>(
    `SELECT count(*) > 0 AS has_odd FROM ${database}.${ODD_DAYS}`,
  );
  return found?.has_odd === true;
}

/** A month whose bars are in a copy, with a text that identifies the files and the views that they follow from. */
interface MonthInCopy extends Month {
  readonly key: string;
  readonly hasMinutes: boolean;
}

type StoredMonth = Pick<MonthInCopy, "key" | "hasMinutes">;

/** The months of a copy, the oldest first: rows then have about the order of the files, as in a query without ORDER BY. */
function monthsIn({ bars, sources: [{ snapshot, files }] }: SqlCopyFile): readonly MonthInCopy[] {
  const { table, columns } = snapshot;
  const copied = new Set(bars.files);
  const months = [...(monthsOf(table, files) ?? [])].reverse();
  return months.map((month) => {
    const paths = month.files.map(({ path }) => path).sort();
    const key = hashOf([COPY_FORMAT, viewsKey(), JSON.stringify([table.name, columns, paths])]);
    return { ...month, key, hasMinutes: month.files.every((file) => copied.has(file)) };
  });
}

/** The months of an attached copy, by first date. */
async function storedMonths(session: Session, name: string): Promise<Map<string, StoredMonth>> {
  const rows = await session.json<{ first: string; key: string; has_minutes: boolean }>(
    `SELECT CAST(first AS VARCHAR) AS first, key, has_minutes FROM ${name}.${MONTHS}`,
  );
  return new Map(rows.map(({ first, key, has_minutes }) => [first, { key, hasMinutes: has_minutes }]));
}

function storedOf(
  { first, key }: MonthInCopy,
  known: ReadonlyMap<string, StoredMonth>,
): StoredMonth | undefined {
  const stored = known.get(first);
  return stored?.key === key ? stored : undefined;
}

function lacksMinutes({ hasMinutes }: MonthInCopy, stored: StoredMonth | undefined): boolean {
  return hasMinutes && stored?.hasMinutes !== true;
}

async function createTables(session: Session): Promise<void> {
  const sources: Readonly<Record<string, string>> = {
    [MINUTES_TABLE]: "FROM raw.bars_1m",
    [ODD_MINUTES]: "FROM raw.bars_1m",
    [ODD_DAYS]: "SELECT symbol, trade_date FROM raw.bars_1m",
  };
  for (const [name, query] of Object.entries(sources))
    await session.run(`CREATE TABLE ${database}.${ident(name)} AS ${query} WITH NO DATA`);
  for (const [period, name] of BARS_TABLES)
    await session.run(
      `CREATE TABLE ${database}.${ident(name)} AS FROM adjusted(${literal(period)}, 'none') WITH NO DATA`,
    );
  await session.run(`CREATE TABLE ${database}.${MONTHS} (first DATE, key VARCHAR, has_minutes BOOLEAN)`);
}

/** The SQL condition that a row is of the month with this first date. */
function isInMonth(first: string): string {
  const start = `DATE ${literal(first)}`;
  return `trade_date >= ${start} AND trade_date < CAST(${start} + INTERVAL 1 MONTH AS DATE)`;
}

/** Deletes what a copy shall not have: months with other files, and minutes. */
async function removeOthers(
  session: Session,
  known: ReadonlyMap<string, StoredMonth>,
  months: readonly MonthInCopy[],
): Promise<void> {
  const bars = [ODD_MINUTES, ODD_DAYS, ...BARS_TABLES.values()];
  for (const [first, { hasMinutes }] of known) {
    const month = months.find((one) => one.first === first);
    const isSame = month !== undefined && storedOf(month, known) !== undefined;
    const isWithout = hasMinutes && !(isSame && month.hasMinutes);
    for (const name of [...(isWithout ? [MINUTES_TABLE] : []), ...(isSame ? [] : bars)])
      await session.run(`DELETE FROM ${database}.${ident(name)} WHERE ${isInMonth(first)}`);
  }
}

/** Writes what a copy lacks of a month. @param stored what it has of it. */
async function readMonth(
  lake: Lake,
  session: Session,
  { sources: [{ snapshot }] }: SqlCopyFile,
  month: MonthInCopy,
  { stored, signal }: { readonly stored: StoredMonth | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const isLacking = lacksMinutes(month, stored);
  if (stored !== undefined && !isLacking) return;
  // The blocks of deleted rows, and of row groups to which rows were added, are used again.
  await session.run(`CHECKPOINT ${database}`);
  // Files are verified even if this process did so before: they may be damaged since, and a copy would preserve the
  // damage.
  await verifyContent(lake, snapshot, month.files, signal);
  const ofFiles = await parquetRelation(session, lake.filesOf(snapshot, month.files));
  if (isLacking) await insert(session, MINUTES_TABLE, ofFiles);
  if (stored !== undefined) return;
  const copied = `FROM ${database}.${MINUTES_TABLE} WHERE ${isInMonth(month.first)}`;
  await insertBars(session, month.hasMinutes ? copied : ofFiles);
}

/** Inserts the bars of longer periods. @param minutes a query of the minutes of a month. */
async function insertBars(session: Session, minutes: string): Promise<void> {
  const inMonth = `month AS NOT MATERIALIZED (${minutes})`;
  const sameDay = `${database}.${ODD_DAYS} USING (symbol, trade_date)`;
  await insert(
    session,
    ODD_DAYS,
    `WITH ${inMonth} SELECT DISTINCT symbol, trade_date FROM month WHERE ${IS_ODD}`,
  );
  await insert(session, ODD_MINUTES, `WITH ${inMonth} FROM month SEMI JOIN ${sameDay}`);
  for (const [period, name] of BARS_TABLES)
    await insert(
      session,
      name,
      `WITH ${inMonth},
         regular AS NOT MATERIALIZED (FROM month ANTI JOIN ${sameDay}),
         priced AS NOT MATERIALIZED (FROM unadjusted_bars('regular', true))
       FROM adjusted_minutes('priced', ${literal(period)}) ORDER BY symbol, "timestamp"`,
    );
}

async function insert(session: Session, name: string, query: string): Promise<void> {
  await session.run(`INSERT INTO ${database}.${ident(name)} ${query}`);
}
