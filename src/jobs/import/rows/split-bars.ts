import { countRows } from "../../../db/session/count-rows.js";
import type { Session, TempTable } from "../../../db/session/session.js";
import type { ImportOptions } from "../import-options.js";
import { plainName } from "../plan/field-names.js";
import type { FileVerdict, ReadGroup } from "../table-import.js";
import type { EvidenceSource } from "./bar-evidence.js";

/**
 * What is known of the prices of a file in a form of Yahoo Finance, whose prices, volumes and dividends are in shares of the
 * day on which it was downloaded: adjusted for all splits since. Downloads without `Adj Close` are adjusted for dividends, too.
 */
export type SplitVerdict = Pick<FileVerdict, "refusal" | "found" | "remarks"> & {
  /** How its prices land: as they are, or in shares of then, where it has splits or none. */
  readonly prices: "as they are" | "with splits" | "without splits";
};

/** Numbers beside bars that are no part of them: they land as corporate actions. */
export const BESIDE: readonly string[] = ["dividend", "split", "capital_gain"];

/** Splits from this ratio on, or its inverse, show in the prices whether these are adjusted for them. */
const CLEAR_SPLIT = 1.5;

/** Judges the files of daily bars that may be adjusted, by their places; others are not in the result. */
export async function judgeSplits(
  { session, rows, numbers }: EvidenceSource,
  reads: readonly ReadGroup[],
  { prices }: ImportOptions,
): Promise<Map<number, SplitVerdict>> {
  const verdicts = new Map<number, SplitVerdict>();
  const listed = reads.filter(({ chosen }) => chosen.fields.has("split"));
  const shown = await splitsShown(
    session,
    rows,
    BESIDE.filter((field) => numbers.has(field)),
    listed.flatMap(({ group }) => group.places),
  );
  for (const { group, chosen } of reads) {
    const [file] = group.files;
    const hasAdjusted = file?.columns.some((name) => plainName(name) === "adj_close") === true;
    const isYahoo =
      chosen.source?.name === "Yahoo Finance" ||
      file?.csv?.wide !== undefined ||
      BESIDE.some((field) => chosen.fields.has(field));
    if (!isYahoo) continue;
    for (const place of group.places)
      verdicts.set(
        place,
        verdictOf(shown.get(place), { hasAdjusted, hasSplits: chosen.fields.has("split") }, prices),
      );
  }
  return verdicts;
}

/** How many splits the prices of a file contradict, and what cannot be read. */
interface ShownSplits {
  readonly splits: number;
  /** Of clear splits at which the price moves as it was traded: the first one. */
  readonly traded: string | null;
  /** Of clear splits over which the price goes on: the first one. */
  readonly smooth: string | null;
  /** A split or dividend that is no number, or below 0. */
  readonly odd: string | null;
}

function verdictOf(
  shown: ShownSplits | undefined,
  { hasAdjusted, hasSplits }: { readonly hasAdjusted: boolean; readonly hasSplits: boolean },
  prices: ImportOptions["prices"],
): SplitVerdict {
  const none = { found: [], remarks: [], prices: "as they are" } as const;
  if (prices === undefined && !hasAdjusted)
    return {
      ...none,
      refusal: {
        reason:
          "its prices may be adjusted for dividends: it has no Adj Close, as downloads with auto_adjust",
        hint: 'download it with auto_adjust=False and actions=True, or say what its prices are with `prices: "split-adjusted"` or `prices: "traded"`',
      },
    };
  if (!hasSplits) {
    const remark =
      "its prices are adjusted for the splits up to its download, and it does not list these: with actions=True they land as traded";
    return { ...none, remarks: prices === "traded" ? [] : [remark] };
  }
  const { splits = 0, traded = null, smooth = null, odd = null } = shown ?? {};
  if (odd !== null)
    return {
      ...none,
      refusal: { reason: `${odd}, and prices depend on it`, hint: "correct it in the file" },
    };
  if (prices !== "traded" && traded !== null)
    return {
      ...none,
      refusal: {
        reason: `its prices move by the split of ${traded}, as they do where they are not adjusted for it`,
        hint: 'add `prices: "traded"`, or repair its prices',
      },
    };
  if (prices === "traded" && smooth !== null)
    return {
      ...none,
      refusal: {
        reason: `its prices do not move at the split of ${smooth}: they are adjusted for it`,
        hint: 'add `prices: "split-adjusted"`',
      },
    };
  if (prices === "traded") return none;
  const what = splits === 0 ? "none" : String(splits);
  return {
    ...none,
    prices: splits > 0 ? "with splits" : "without splits",
    found: [
      `prices in shares of the download: traded prices are these times the later splits of the file (${what}), in seven digits; volumes divided by them; dividends likewise`,
    ],
  };
}

async function splitsShown(
  session: Session,
  rows: string,
  beside: readonly string[],
  places: readonly number[],
): Promise<Map<number, ShownSplits>> {
  if (places.length === 0) return new Map();
  const below = beside.map((name) => `WHEN n_${name} < 0 THEN '${name} ' || n_${name} || ' is below 0'`);
  const isClear = `abs(step) >= ln(${CLEAR_SPLIT}) AND moved IS NOT NULL`;
  const isTraded = "abs(moved - step) < abs(moved)";
  const label = "symbol || ' on ' || day || ' (' || n_split || ')'";
  const found = await session.json<ShownSplits & { readonly file: number }>(
    `SELECT file, count(*) FILTER (n_split > 0 AND n_split <> 1)::DOUBLE AS splits,
       min(${label}) FILTER (${isClear} AND ${isTraded}) AS traded,
       min(${label}) FILTER (${isClear} AND NOT ${isTraded}) AS smooth,
       min(odd) AS odd
     FROM (SELECT * REPLACE (CASE WHEN regexp_matches(odd, '^(?:${BESIDE.join("|")}) ') THEN odd || ' is not a number' ${below.join(" ")} END AS odd),
         CASE WHEN n_split > 0 THEN ln(n_split) END AS step, CASE WHEN n_close > 0 AND last > 0 THEN ln(last / n_close) END AS moved
       FROM (SELECT *, lag(n_close) OVER (PARTITION BY file, symbol ORDER BY day) AS last
         FROM ${rows} WHERE file IN (${places.join(", ")})))
     GROUP BY file`,
  );
  return new Map(found.map(({ file, ...shown }) => [file, shown]));
}

/** Rounds SQL of a number that was multiplied to the digits of single precision, in which Yahoo Finance has prices. */
export function singleSql(number: string): string {
  return `CASE WHEN ${number} <> 0 AND isfinite(${number}) THEN round(${number}, 6 - floor(log10(abs(${number})))::INTEGER) ELSE ${number} END`;
}

/**
 * Undoes the later splits of the same file and symbol in the rows of some files: prices and dividends are multiplied,
 * volumes divided. A dividend of the day of a split is for a share before it. All prices get the digits of single
 * precision, so that a download after a further split gives the same ones.
 *
 * @param undone the files with splits. @param all the files in shares of their download.
 */
export async function undoSplits(
  { session, raw, rows, numbers }: EvidenceSource,
  undone: readonly number[],
  all: readonly number[],
): Promise<void> {
  if (all.length === 0) return;
  const prices = ["n_open", "n_high", "n_low", "n_close"];
  const cash = ["dividend", "capital_gain"].filter((name) => numbers.has(name)).map((name) => `n_${name}`);
  const split = "coalesce(CASE WHEN n_split > 0 THEN n_split END, 1)";
  const times = [
    ...prices.map((name) => `${name} = ${name} * f.later`),
    ...cash.map((name) => `${name} = ${name} * f.since`),
  ];
  if (undone.length > 0)
    await session.run(`UPDATE ${raw} AS r SET ${times.join(", ")},
        n_volume = CASE WHEN f.later = 1 THEN n_volume ELSE round(n_volume / f.later) END
      FROM (SELECT "row", product(${split}) OVER later AS since,
          coalesce(product(${split}) OVER (later GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS later
        FROM ${rows} WHERE file IN (${undone.join(", ")})
        WINDOW later AS (PARTITION BY file, symbol ORDER BY day DESC)) AS f
      WHERE f."row" = r.rowid AND f.since <> 1`);
  const rounded = [...prices, ...cash].map((name) => [name, singleSql(name)] as const);
  await session.run(`UPDATE ${raw} SET ${rounded.map(([name, value]) => `${name} = ${value}`).join(", ")}
    WHERE file IN (${all.join(", ")}) AND (${rounded.map(([name, value]) => `${name} <> ${value}`).join(" OR ")})`);
}

interface BarActions {
  readonly places: readonly number[];
  /** Those of them whose midnights have the trading date of their own clock. */
  readonly ownDates: readonly number[];
  readonly source: string;
}

/** Fills a table with the dividends and splits beside bars, as rows of corporate actions; of several files the later one counts. */
export async function stageBarActions(
  { session, rows, numbers }: EvidenceSource,
  staged: TempTable,
  { places, ownDates, source }: BarActions,
): Promise<number> {
  const date = `CASE WHEN ${ownDates.length > 0 ? `file IN (${ownDates.join(", ")})` : "false"} THEN coalesce(own_day, day) ELSE day END`;
  const kinds: readonly (readonly [field: string, kind: string, column: "cash" | "ratio"])[] = [
    ["dividend", "'cash_dividend'", "cash"],
    ["capital_gain", "'other'", "cash"],
    ["split", "CASE WHEN n_split < 1 THEN 'consolidation' ELSE 'split' END", "ratio"],
  ];
  const parts = kinds
    .filter(([field]) => numbers.has(field))
    .map(
      ([field, kind, column]) =>
        `SELECT "row", symbol, region, ${date} AS ex_date, ${kind} AS kind, ${column === "cash" ? `n_${field}` : "NULL"}::DOUBLE AS cash,
          ${column === "ratio" ? `n_${field}` : "NULL"}::DOUBLE AS ratio FROM own WHERE n_${field} > 0${field === "split" ? " AND n_split <> 1" : ""}`,
    );
  const none = [
    "price DOUBLE",
    "currency VARCHAR",
    "announce_date DATE",
    "record_date DATE",
    "pay_date DATE",
  ].map((one) => {
    const [name, type] = one.split(" ");
    return `NULL::${type} AS ${name}`;
  });
  await staged.fill(
    parts.length === 0 || places.length === 0
      ? "SELECT NULL AS symbol WHERE false"
      : `WITH own AS (SELECT * FROM ${rows} WHERE file IN (${places.join(", ")}) AND symbol IS NOT NULL AND region IS NOT NULL AND day IS NOT NULL)
        SELECT symbol, region, ex_date, kind, '${source.replaceAll("'", "''")}' AS source, arg_max(cash, "row") AS cash, arg_max(ratio, "row") AS ratio, ${none.join(", ")}
        FROM (${parts.join(" UNION ALL ")}) GROUP BY symbol, region, ex_date, kind`,
  );
  return await countRows(session, staged.name);
}
