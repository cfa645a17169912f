import { setImmediate } from "node:timers/promises";
import { type FixedType, type ResultColumn, readColumns } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { UsageError } from "../../core/errors.js";
import { dateOfEpochDay } from "../../core/time.js";
import { ident, literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { PanelSymbol } from "../panel/block.js";
import type { DatasetWriter, WriterPlace } from "./dataset-writer.js";
import { qlibFolder } from "./qlib-names.js";
import { pitFiles } from "./qlib-pit.js";

/** Symbols whose versions are read together: some 10,000 rows. */
const SYMBOLS_AT_ONCE = 200;
const NUMBERS = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|FLOAT|DOUBLE|DECIMAL)/;

const KEYS = { s: "int32", date: "int32", period: "int32" } as const;

/** Items of one kind of statement. */
interface Statement {
  /** Name of the table, such as `balance_sheet`. */
  readonly table: string;
  readonly items: readonly string[];
  /** Versions written so far. */
  versions: number;
}

/**
 * Writes every version of statements' items that was known by a dataset's last label, with the date from which it was
 * known, in qlib's point-in-time layout: `financial/<instrument>/<table>_<item>_q.data` and `.index`. Names in qlib's
 * expressions consist of letters, digits and underscores: `balance_sheet.total_assets` is
 * `P($$balance_sheet_total_assets_q)`.
 *
 * An instrument without a version has no files.
 *
 * @returns the writer of the files; its `write` throws {@link UsageError} for items that the lake does not have.
 */
export function statementWriter(place: WriterPlace, names: readonly string[]): DatasetWriter {
  let statements: readonly Statement[] | undefined;
  return {
    async write({ symbols }) {
      statements ??= await findItems(place, names);
      for (const statement of statements) {
        for (let start = 0; start < symbols.length; start += SYMBOLS_AT_ONCE) {
          const some = symbols.slice(start, start + SYMBOLS_AT_ONCE);
          statement.versions += await writeVersions(place, statement, some);
          await setImmediate();
        }
      }
    },
    async finish() {
      for (const { table, versions } of statements ?? [])
        if (versions === 0) place.warn(`no ${table} of its symbols was known by its last day`);
    },
  };
}

/** The items by table. */
async function findItems({ session, spec }: WriterPlace, names: readonly string[]): Promise<Statement[]> {
  const tables = new Map<string, Set<string>>();
  for (const name of names) {
    const [table, item] = name.split(".") as [string, string];
    tables.set(table, (tables.get(table) ?? new Set()).add(item));
  }
  const statements: Statement[] = [];
  for (const [table, items] of tables) {
    const known = await itemsOf(session, table);
    for (const item of items) {
      if (known.includes(item)) continue;
      throw new UsageError(`dataset ${spec.name}: statements: ${table} has no item ${item}`, {
        hint: `it has ${known.join(", ")}`,
      });
    }
    statements.push({ table, items: [...items], versions: 0 });
  }
  return statements;
}

/** The numeric items of a kind of statement in this lake: sources may report more than the schema defines. */
async function itemsOf(session: Session, table: string): Promise<string[]> {
  const columns = await session.json<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns()
     WHERE schema_name = 'raw' AND table_name = ${literal(table)} ORDER BY name`,
  );
  return columns.filter(({ type }) => NUMBERS.test(type)).map(({ name }) => name);
}

/** @returns the number of versions that it wrote. */
async function writeVersions(
  { files, session, shape: { labels } }: WriterPlace,
  statement: Statement,
  symbols: readonly PanelSymbol[],
): Promise<number> {
  const sql = versionsSql(statement, symbols, labels.days[labels.count - 1] as number);
  const items = Object.fromEntries(statement.items.map((_, i) => [`item${i}`, "double" as const]));
  const shape: Readonly<Record<string, FixedType>> & typeof KEYS = { ...items, ...KEYS };
  const { rows, columns } = await readColumns(await session.run(sql), shape);
  for (let start = 0, end = 0; start < rows; start = end) {
    const s = columns.s.values[start] as number;
    while (end < rows && columns.s.values[end] === s) end++;
    const folder = `financial/${qlibFolder((symbols[s] as PanelSymbol).symbol)}`;
    for (const [i, item] of statement.items.entries()) {
      const { values, validity } = columns[`item${i}`] as ResultColumn<"double">;
      const { data, index } = pitFiles({
        dates: columns.date.values.subarray(start, end),
        periods: columns.period.values.subarray(start, end),
        values: Float64Array.from({ length: end - start }, (_, row) =>
          isPresent(validity, start + row) ? (values[start + row] as number) : Number.NaN,
        ),
      });
      const path = `${folder}/${statement.table}_${item}_q`;
      files.put(`${path}.data`, data);
      files.put(`${path}.index`, index);
    }
  }
  return rows;
}

/**
 * Every version known by a day, in the same order as in the history views. If two periods end in one quarter, as when a
 * fiscal year is moved, the later period is used from the date on which it is known. qlib accepts 1900 to 2099.
 */
function versionsSql({ table, items }: Statement, symbols: readonly PanelSymbol[], lastDay: number): string {
  const names = symbols.map(({ symbol }) => symbol);
  const values = items.map((item, i) => `CAST(${ident(item)} AS DOUBLE) AS item${i}`).join(", ");
  return `WITH versions AS (
      SELECT n.s, period_end, announce_date, first_seen_at, known_from AS known, period_month(period_end) AS period_month,
        ${values}
      FROM known_versions('raw.${table}')
      JOIN (SELECT unnest(${literalList(names)}) AS symbol, CAST(unnest(range(${names.length})) AS INTEGER) AS s) AS n USING (symbol)),
    quarters AS (
      SELECT *, CAST(year(period_month) * 100 + quarter(period_month) AS INTEGER) AS period FROM versions
      WHERE known <= DATE '${dateOfEpochDay(lastDay)}' AND year(period_month) BETWEEN 1900 AND 2099)
    SELECT ${items.map((_, i) => `item${i}`).join(", ")},
      s, CAST(year(known) * 10000 + month(known) * 100 + day(known) AS INTEGER) AS date, period
    FROM quarters
    QUALIFY period_month >= max(period_month) OVER (
      PARTITION BY s, period ORDER BY known, first_seen_at, announce_date NULLS FIRST, period_end ROWS UNBOUNDED PRECEDING)
    ORDER BY s, known, first_seen_at, announce_date NULLS FIRST, period_end`;
}
