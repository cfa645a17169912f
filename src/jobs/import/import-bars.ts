import { UsageError } from "../../core/errors.js";
import { lotSql, perRegion, regionSql } from "../../db/market/region-sql.js";
import { badSymbolReasonSql, isSymbolSql, unknownExchangeReasonSql } from "../../db/market/symbol-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Rejects } from "../../lake/land/rejects.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { EARLIEST_MS, LATEST_MS } from "../../wire/decode/time-issues.js";
import type { ImportOptions } from "./import-options.js";
import { rowSymbolSql } from "./row-symbol.js";
import { findColumn, type Source, textSql } from "./source.js";

/** The amount by which a start label is moved to the end of its minute. */
const MINUTE = "INTERVAL 1 MINUTE";

/**
 * Reads one file of bars into the staged rows. Rows that are not bars go to the rejects, with their line.
 *
 * @returns remarks about the file for the user.
 * @throws {UsageError} where the file lacks a column that a bar must have, or has times in seconds.
 */
export async function readBars(
  session: Session,
  table: TableSchema,
  source: Source,
  staged: string,
  { rejects, ...options }: ImportOptions & { readonly rejects: Rejects },
): Promise<string[]> {
  const column = (name: string): string | undefined => findColumn(source, name, options.map);
  const missing = ["timestamp", "open", "high", "low", "close", "volume"].filter(
    (name) => column(name) === undefined,
  );
  if (missing.length > 0) {
    throw new UsageError(`file ${source.path}: has no column for ${missing.join(", ")}`, {
      hint: `give them with \`map: { ${missing[0]}: "COLUMN" }\`; its columns are ${source.columns.join(", ")}`,
    });
  }
  const numbers = KLINE_COLUMNS.filter((c) => column(c.name) !== undefined);
  const texts = numbers.map((c) => `${textSql(column(c.name))} AS ${ident(c.name)}`);
  const timestamp =
    options.barLabel === "start" && table.name === "bars_1m" ? `instant + ${MINUTE}` : "instant";
  const parsed = numbers.map((c) => `${numberSql(c.name, c.type === "int64")} AS ${ident(`n_${c.name}`)}`);
  await using bars = new TempTable(session, "parsed_bars");
  await bars.fill(`SELECT *, ${ruleSql(numbers.map((c) => c.name))}
    FROM (
      SELECT *, ${instantSql("timestamp", "region")} AS instant, ${parsed.join(", ")}
      FROM (SELECT *, ${regionSql("symbol")} AS region
        FROM (SELECT line, ${rowSymbolSql(source, column("symbol"), options)} AS symbol, ${textSql(column("timestamp"))} AS timestamp,
          ${texts.join(", ")} FROM (${source.sql})))
    )`);
  await expectNoSeconds(session, bars, source);
  const members = ["timestamp", ...numbers.map((c) => c.name)].map(
    (name) => `${ident(name)} := ${ident(name)}`,
  );
  await rejects.add(
    table.name,
    `SELECT ${literal(source.path)} AS source, line, symbol, timestamp, verdict[1] AS rule, verdict[2] AS reason,
       to_json(struct_pack(${members.join(", ")})) AS row FROM ${bars.name} WHERE verdict IS NOT NULL`,
  );
  const values = KLINE_COLUMNS.map((c) => {
    if (c.name === "amount") return `coalesce(${column("amount") ? "n_amount" : "NULL"}, 0) AS amount`;
    return `${column(c.name) ? ident(`n_${c.name}`) : "NULL"} AS ${ident(c.name)}`;
  });
  const lot = options.volumeUnit === "lots" ? lotSql("region") : "1";
  await session.run(
    `INSERT INTO ${ident(staged)} BY NAME SELECT symbol, ${timestamp} AS timestamp, ${values.join(", ")},
       coalesce(${lot}, 1) AS lot, ${literal(source.path)} AS source, line
     FROM ${bars.name} WHERE verdict IS NULL`,
  );
  return await remarks(session, bars, source, column("amount") !== undefined, options);
}

/** Epoch seconds until the year 2286; as milliseconds these are days of January to April 1970. */
const SECONDS = "\\d{9,10}";

/** @throws {UsageError} for a file whose newest time would be in 1970: its numbers are seconds. */
async function expectNoSeconds(session: Session, bars: TempTable, source: Source): Promise<void> {
  const [one] = await session.json<{ timestamp: string | null }>(
    `SELECT max(timestamp) FILTER (instant IS NOT NULL) AS timestamp FROM ${bars.name}
     HAVING bool_and(regexp_full_match(timestamp, '${SECONDS}')) FILTER (instant IS NOT NULL)`,
  );
  if (one?.timestamp == null) return;
  throw new UsageError(`file ${source.path}: timestamp ${one.timestamp} is in seconds`, {
    hint: "write epoch milliseconds, or dates and times in the exchange's zone",
  });
}

/**
 * SQL of an instant: from epoch milliseconds, a date, or a date and time, also as digits alone. Values without an offset
 * are in the exchange's zone.
 */
function instantSql(text: string, region: string): string {
  const local = (value: string): string =>
    perRegion(region, ({ zone }) => `(${value}) AT TIME ZONE ${literal(zone)}`);
  // Milliseconds with so few digits, of 1970 to 1976, hardly ever read as a date and a time.
  const digits = (count: number, format: string): string =>
    `CASE WHEN regexp_full_match(${text}, '(19|20|21)\\d{${count - 2}}') THEN try_strptime(${text}, '${format}') END`;
  return `CASE
    WHEN ${digits(14, "%Y%m%d%H%M%S")} IS NOT NULL THEN ${local(digits(14, "%Y%m%d%H%M%S"))}
    WHEN ${digits(12, "%Y%m%d%H%M")} IS NOT NULL THEN ${local(digits(12, "%Y%m%d%H%M"))}
    WHEN regexp_full_match(${text}, '-?\\d{9,15}') THEN make_timestamptz(TRY_CAST(${text} AS BIGINT) * 1000)
    WHEN regexp_full_match(${text}, '\\d{8}') THEN ${local(`try_strptime(${text}, '%Y%m%d')`)}
    WHEN regexp_matches(${text}, '\\d:\\d\\d.*([zZ]|[+-]\\d\\d(:?\\d\\d)?)$') THEN TRY_CAST(${text} AS TIMESTAMPTZ)
    ELSE ${local(`TRY_CAST(${text} AS TIMESTAMP)`)} END`;
}

function numberSql(name: string, integer: boolean): string {
  const text = ident(name);
  if (!integer) return `TRY_CAST(${text} AS DOUBLE)`;
  const whole = `TRY_CAST(${text} AS DOUBLE) = floor(TRY_CAST(${text} AS DOUBLE))`;
  return `CASE WHEN regexp_full_match(${text}, '-?\\d+') THEN TRY_CAST(${text} AS BIGINT)
    WHEN ${whole} THEN TRY_CAST(TRY_CAST(${text} AS DOUBLE) AS BIGINT) END`;
}

/** SQL of the rule and the reason why a row is not a bar; null where it is one. */
function ruleSql(names: readonly string[]): string {
  const tests = [
    `WHEN symbol IS NULL THEN ['bad_symbol', 'the symbol is empty']`,
    `WHEN NOT ${isSymbolSql("symbol")}
       THEN ['bad_symbol', ${badSymbolReasonSql("symbol")}]`,
    `WHEN region IS NULL THEN ['unknown_exchange', ${unknownExchangeReasonSql("symbol")}]`,
    `WHEN timestamp IS NULL THEN ['null_in_required', 'timestamp is empty']`,
    `WHEN instant IS NULL THEN ['unparsable', 'timestamp "' || left(timestamp, 40) || '" is no time']`,
    `WHEN epoch_ms(instant) NOT BETWEEN ${EARLIEST_MS} AND ${LATEST_MS}
       THEN ['out_of_range', 'timestamp "' || left(timestamp, 40) || '" is not of 1900 to 2200']`,
  ];
  const optional = new Set(KLINE_COLUMNS.filter((c) => c.nullable || c.name === "amount").map((c) => c.name));
  for (const name of names) {
    const text = ident(name);
    if (!optional.has(name)) tests.push(`WHEN ${text} IS NULL THEN ['null_in_required', '${name} is empty']`);
    if (name === "volume") {
      tests.push(`WHEN n_volume IS NULL AND TRY_CAST(volume AS DOUBLE) IS NOT NULL
        THEN ['fraction_in_integer', 'volume ' || volume || ' is not a whole number']`);
    }
    tests.push(`WHEN ${text} IS NOT NULL AND ${ident(`n_${name}`)} IS NULL
      THEN ['unparsable', '${name} "' || left(${text}, 40) || '" is not a number']`);
  }
  return `CASE ${tests.join("\n")} END AS verdict`;
}

async function remarks(
  session: Session,
  bars: TempTable,
  source: Source,
  hasAmount: boolean,
  options: ImportOptions,
): Promise<string[]> {
  if (!hasAmount) return [`${source.path}: no amount; landed as 0`];
  const [unit] = await session.json<{ ratio: number | null }>(
    `SELECT median(n_amount / n_volume / n_close) AS ratio FROM ${bars.name}
     WHERE verdict IS NULL AND n_volume > 0 AND n_close > 0 AND n_amount > 0`,
  );
  const ratio = unit?.ratio ?? 1;
  if (options.volumeUnit === "shares" && ratio > 20) {
    return [
      `${source.path}: amount is about ${Math.round(ratio)} times price x volume: are volumes in lots? (\`volumeUnit: "lots"\`)`,
    ];
  }
  if (options.volumeUnit === "lots" && ratio < 5) {
    return [
      `${source.path}: amount is about price x volume: are volumes in shares? (\`volumeUnit: "shares"\`)`,
    ];
  }
  return [];
}
