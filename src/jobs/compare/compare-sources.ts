import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import {
  type Compared,
  DIFFERENCES,
  type Difference,
  differsSql,
  labelsSql,
  namedSql,
  PRICES,
  repeatsSql,
} from "./difference-sql.js";
import { isBars, type Source, type SourceRows } from "./sources.js";

/** A place where two sources differ. */
export interface Example {
  readonly symbol: string;
  /** Trading date or end of the period; of a minute, its instant in UTC. */
  readonly at: string;
  /** The values that differ, by column; null where a side has none. */
  readonly a: Readonly<Record<string, number>> | null;
  readonly b: Readonly<Record<string, number>> | null;
}

export interface NamedDifference {
  readonly kind: Difference;
  readonly rows: number;
  readonly symbols: number;
  /** First and last day. */
  readonly first: string;
  readonly last: string;
  /** Rows that only one of the sources has. */
  readonly onlyA: number;
  readonly onlyB: number;
  /** Of units: the commonest factor from A to B; of an adjustment: the commonest ratio of prices. */
  readonly factor: number | null;
  /** Of labels: the commonest distance from A to B, in milliseconds. */
  readonly shiftMs: number | null;
  /** The symbols with most rows. */
  readonly most: readonly { readonly symbol: string; readonly rows: number }[];
  readonly examples: readonly Example[];
}

export interface TableDifferences {
  readonly table: string;
  readonly rowsA: number;
  readonly rowsB: number;
  /** Rows that both have. */
  readonly common: number;
  /** Rows that differ; one can differ in more than one way. */
  readonly different: number;
  /** Columns with numbers that both have. Where there are none, nothing was compared. */
  readonly columns: readonly string[];
  /** Columns with numbers that only one of the sources has. */
  readonly notCompared: readonly string[];
  readonly differences: readonly NamedDifference[];
}

export interface CompareOptions {
  /** Examples of each kind. @default 3 */
  readonly examples?: number;
  /** Called with the share of the rows that are compared. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Compares only what A has of time: from its first to its last row of each symbol. @default everything */
  readonly withinA?: boolean;
}

/** The columns of a source that have a value in some row: what it never says is not compared. */
async function statedColumns(session: Session, { sql, columns }: SourceRows): Promise<string[]> {
  if (columns.length === 0) return [];
  const [stated] = await session.json<Record<string, boolean | null>>(
    `SELECT ${columns.map((name) => `bool_or(${ident(name)} IS NOT NULL) AS ${ident(name)}`).join(", ")} FROM (${sql})`,
  );
  return columns.filter((name) => stated?.[name] === true);
}

/** Rows of daily bars are compared a year at a time, minutes a month, so that memory does not grow with the history. */
const SPANS = { day: "year", minute: "month" } as const;
const MOST_SYMBOLS = 5;

/**
 * Compares a table of two sources by symbol and time, and names each difference: see {@link namedSql}. `compareLakes` says
 * whether two lakes have the same content, to the bit, in all tables that a service delivers.
 *
 * @param session one of its own: its temporary tables remain.
 * @returns undefined where one of them lacks the table.
 */
export async function compareTable(
  session: Session,
  table: TableSchema,
  left: Source,
  right: Source,
  { examples = 3, onProgress, withinA = false }: CompareOptions = {},
): Promise<TableDifferences | undefined> {
  const [rowsA, rowsB] = [await left.rows(session, table), await right.rows(session, table)];
  if (rowsA === undefined || rowsB === undefined) return undefined;
  const [statedA, statedB] = [await statedColumns(session, rowsA), await statedColumns(session, rowsB)];
  const columns = statedA.filter((name) => statedB.includes(name));
  const notCompared = [...statedA, ...statedB].filter((name) => !columns.includes(name));
  if (columns.length === 0) {
    const [counts] = await session.json<{ a: bigint; b: bigint; common: bigint }>(
      `SELECT (SELECT count(*) FROM (${rowsA.sql})) AS a, (SELECT count(*) FROM (${rowsB.sql})) AS b,
         (SELECT count(*) FROM (${rowsA.sql}) AS l SEMI JOIN (${rowsB.sql}) AS r ON l.symbol = r.symbol AND l."at" = r."at") AS common`,
    );
    const [rows, others, common] = [Number(counts?.a), Number(counts?.b), Number(counts?.common)];
    return {
      table: table.name,
      rowsA: rows,
      rowsB: others,
      common,
      different: 0,
      columns,
      notCompared,
      differences: [],
    };
  }
  const compared: Compared = {
    columns,
    hasPrices: isBars(table) && PRICES.every((name) => columns.includes(name)),
    hasVersions: rowsA.versions !== undefined || rowsB.versions !== undefined,
  };
  const sides = [
    ["a", rowsA.sql],
    ["b", rowsB.sql],
  ] as const;
  const temp = (name: string, query: string) =>
    session.run(`CREATE OR REPLACE TEMP TABLE ${name} AS ${query}`);
  await temp(
    "spans",
    sides
      .map(
        ([side, sql]) =>
          `SELECT '${side}' AS side, symbol, min(day) AS first, max(day) AS last FROM (${sql}) GROUP BY symbol`,
      )
      .join(" UNION ALL "),
  );
  const within = withinA
    ? `SEMI JOIN (FROM spans WHERE side = 'a') AS s ON s.symbol = x.symbol AND x.day BETWEEN s.first AND s.last`
    : "";
  const sqlB = `SELECT x.* FROM (${rowsB.sql}) AS x ${within}`;
  const rows = sides
    .map(([side, sql]) => `SELECT '${side}' AS side, symbol, day FROM (${side === "b" ? sqlB : sql})`)
    .join(" UNION ALL ");
  const counted = ["a", "b"].flatMap((side) => [
    `count(*) FILTER (side = '${side}') AS all_${side}`,
    `count(*) FILTER (side = '${side}' AND day BETWEEN c.first AND c.last) AS shared_${side}`,
  ]);
  await temp(
    "days",
    `SELECT regexp_extract(symbol, '[^.]*$') AS exchange, day, ${counted.join(", ")} FROM (${rows})
     LEFT JOIN (SELECT symbol, max(first) AS first, min(last) AS last FROM spans GROUP BY symbol HAVING count(*) = 2) AS c USING (symbol)
     GROUP BY ALL`,
  );
  const span = table === BARS_1M ? SPANS.minute : SPANS.day;
  const periods = await session.json<{ first: string; next: string; n: bigint }>(
    `SELECT date_trunc('${span}', day)::VARCHAR AS first, (date_trunc('${span}', day) + INTERVAL 1 ${span})::DATE::VARCHAR AS next,
       sum(all_a + all_b) AS n FROM days GROUP BY ALL ORDER BY ALL`,
  );
  const pick = (side: string): string =>
    columns.map((name) => `${side}.${ident(name)} AS ${ident(`${side}_${name}`)}`).join(", ");
  const different = columns.map((name) => differsSql(`a.${ident(name)}`, `b.${ident(name)}`));
  const joined = (from: string, to: string): string => {
    const part = (sql: string): string =>
      `(SELECT * FROM (${sql}) WHERE day >= DATE '${from}' AND day < DATE '${to}')`;
    return `SELECT coalesce(a.symbol, b.symbol) AS symbol, coalesce(a."at", b."at") AS "at", coalesce(a.day, b.day) AS day,
      a.symbol IS NOT NULL AS in_a, b.symbol IS NOT NULL AS in_b, ${pick("a")}, ${pick("b")}
      FROM ${part(rowsA.sql)} AS a FULL JOIN ${part(sqlB)} AS b ON a.symbol = b.symbol AND a."at" = b."at"
      WHERE a.symbol IS NULL OR b.symbol IS NULL OR ${different.join(" OR ") || "false"}`;
  };
  await temp("diffs", `${joined("0001-01-01", "0001-01-01")} LIMIT 0`);
  const total = periods.reduce((sum, { n }) => sum + Number(n), 0);
  let done = 0;
  for (const { first, next, n } of periods) {
    await session.run(`INSERT INTO diffs ${joined(first, next)}`);
    done += Number(n);
    onProgress?.(done, total);
  }
  await temp("labels", labelsSql(compared));
  await temp(
    "repeats",
    compared.hasPrices
      ? `SELECT symbol, "at", min(side) AS side FROM (${repeatsSql("a", rowsA.sql, columns)} UNION ALL ${repeatsSql("b", sqlB, columns)}) GROUP BY ALL`
      : `SELECT symbol, "at", '' AS side FROM diffs LIMIT 0`,
  );
  if (compared.hasVersions) {
    const earlier = ([versions, side]: readonly [string | undefined, string]): string[] =>
      versions === undefined
        ? []
        : [
            `SELECT d.symbol, d."at" FROM (FROM diffs WHERE in_a AND in_b) AS d JOIN (${versions}) AS v ON v.symbol = d.symbol AND v."at" = d."at"
             WHERE ${columns.map((name) => `NOT ${differsSql(`v.${ident(name)}`, `d.${ident(`${side}_${name}`)}`)}`).join(" AND ")}`,
          ];
    const parts = [...earlier([rowsA.versions, "b"]), ...earlier([rowsB.versions, "a"])];
    await temp("versions", `SELECT DISTINCT symbol, "at" FROM (${parts.join(" UNION ALL ")})`);
  }
  await temp("named", namedSql(compared));
  const [counts] = await session.json<{
    a: bigint;
    b: bigint;
    only_a: bigint;
    only_b: bigint;
    different: bigint;
  }>(
    `SELECT (SELECT sum(all_a) FROM days) AS a, (SELECT sum(all_b) FROM days) AS b,
       count(*) FILTER (in_a AND NOT in_b) AS only_a, count(*) FILTER (in_b AND NOT in_a) AS only_b, count(*) AS different FROM named`,
  );
  return {
    table: table.name,
    rowsA: Number(counts?.a),
    rowsB: Number(counts?.b),
    common: Number(counts?.a) - Number(counts?.only_a),
    different: Number(counts?.different),
    columns,
    notCompared,
    differences: await differencesOf(session, compared, examples),
  };
}

async function differencesOf(
  session: Session,
  { columns }: Compared,
  examples: number,
): Promise<NamedDifference[]> {
  const found: NamedDifference[] = [];
  for (const kind of DIFFERENCES) {
    const rows = `(FROM named WHERE list_contains(kinds, '${kind}'))`;
    const [sum] = await session.json(
      `SELECT count(*) AS rows, count(DISTINCT symbol) AS symbols, min(day)::VARCHAR AS first, max(day)::VARCHAR AS last,
         count(*) FILTER (NOT in_b) AS only_a, count(*) FILTER (NOT in_a) AS only_b,
         mode(power) AS power, mode(round(ratio, 4)) AS ratio, mode(shift_ms) AS shift FROM ${rows}`,
    );
    if (sum === undefined || Number(sum.rows) === 0) continue;
    const most = await session.json<{ symbol: string; rows: bigint }>(
      `SELECT symbol, count(*) AS rows FROM ${rows} GROUP BY symbol ORDER BY rows DESC, symbol LIMIT ${MOST_SYMBOLS}`,
    );
    // An example of each of several symbols says more than several of one.
    const first = await session.json(
      `SELECT symbol, "at"::VARCHAR AS "at", in_a, in_b, ${columns.flatMap((name) => [ident(`a_${name}`), ident(`b_${name}`)]).join(", ")}
       FROM ${rows} QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY "at") = 1 ORDER BY symbol LIMIT ${examples}`,
    );
    const valuesOf = (row: Record<string, unknown>, side: "a" | "b"): Record<string, number> | null => {
      if (row[`in_${side}`] !== true) return null;
      const isShown = (name: string): boolean =>
        row.in_a !== true || row.in_b !== true || row[`a_${name}`] !== row[`b_${name}`];
      return Object.fromEntries(
        columns.filter(isShown).flatMap((name) => {
          const value = row[`${side}_${name}`];
          return typeof value === "number" ? [[name, value]] : [];
        }),
      );
    };
    found.push({
      kind,
      rows: Number(sum.rows),
      symbols: Number(sum.symbols),
      first: String(sum.first),
      last: String(sum.last),
      onlyA: Number(sum.only_a),
      onlyB: Number(sum.only_b),
      factor:
        kind === "unit" && sum.power !== null
          ? 10 ** Number(sum.power)
          : kind === "adjustment" && typeof sum.ratio === "number"
            ? sum.ratio
            : null,
      shiftMs: kind === "label" && sum.shift !== null ? Number(sum.shift) : null,
      most: most.map(({ symbol, rows: n }) => ({ symbol, rows: Number(n) })),
      examples: first.map((row) => ({
        symbol: String(row.symbol),
        at: String(row.at),
        a: valuesOf(row, "a"),
        b: valuesOf(row, "b"),
      })),
    });
  }
  return found;
}
