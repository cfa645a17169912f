import { ident } from "../../db/quote.js";

export const DIFFERENCES = [
  "missing",
  "stale",
  "calendar",
  "label",
  "unit",
  "adjustment",
  "revised",
  "value",
] as const;
/** See {@link DIFFERENCES}. */
export type Difference = (typeof DIFFERENCES)[number];

/** Numbers that differ by less than this share are the same: a float has 7 digits. */
const SAME = 1e-6;
/** Half a cent, to which adjusted prices are rounded. */
const TICK = 0.0051;
/** Most days by which labels are apart: a weekend with a holiday, and of the ends of periods a quarter. */
const LABEL_DAYS = 5;
const PERIOD_DAYS = 100;
/** Most days between bars of one stretch of an adjustment. */
const STRETCH_DAYS = 20;
/** A correction changes prices by at most this share, and volume and amount by the next. */
const CORRECTED_PRICE = 0.02;
const CORRECTED_SIZE = 0.2;
/** Powers of ten by which units differ: percent and lots, thousands, ten-thousands, millions, hundred-millions, billions. */
const POWERS = [1, 2, 3, 4, 6, 8, 9];
/** Least number of symbols for which one day can say something about a calendar. */
const CALENDAR_SYMBOLS = 3;
/** On a day without a session a source has at most this share of the symbols that it has around the day. */
const CALENDAR_SHARE = 0.2;

export const PRICES = ["open", "high", "low", "close"] as const;

const a = (name: string): string => ident(`a_${name}`);
const b = (name: string): string => ident(`b_${name}`);
/** The power of ten between the values of a column. */
const unit = (name: string): string => ident(`unit_${name}`);
const all = (parts: readonly string[]): string => `(${parts.join(" AND ")})`;
const any = (parts: readonly string[]): string => `(${parts.join(" OR ")})`;
const every = (parts: (name: string) => string): string => all(PRICES.map(parts));

/** Whether two numbers differ by more than their rounding; a null differs from a number. */
export function differsSql(left: string, right: string): string {
  return `(${left} IS DISTINCT FROM ${right}
    AND NOT coalesce(abs(${left} - ${right}) <= ${SAME} * greatest(abs(${left}), abs(${right})), false))`;
}

/**
 * The power of ten by which `right` is larger; null where it is not so by any of {@link POWERS}. @param rounding by how
 * many of the larger unit a number may be off: lots are whole, prices are not rounded.
 */
function unitSql(left: string, right: string, rounding: number): string {
  const power = `round(log10(${right} / ${left}))`;
  const scale = `pow(10, abs(${power}))`;
  const [small, large] = [`least(${left}, ${right})`, `greatest(${left}, ${right})`];
  return `CASE WHEN ${left} > 0 AND ${right} > 0 AND abs(${power}) IN (${POWERS.join(", ")})
    AND abs(${small} - ${large} / ${scale}) <= greatest(${rounding}, ${SAME} * ${small}) THEN CAST(${power} AS INTEGER) END`;
}

function isCorrected(name: string, share: number): string {
  return `abs(${a(name)} - ${b(name)}) <= ${share} * greatest(abs(${a(name)}), abs(${b(name)}))`;
}

/** What is compared: a table with a row for each symbol and time. */
export interface Compared {
  /** Columns with numbers that both sources have. */
  readonly columns: readonly string[];
  /** Whether they are bars, with all four prices: one price alone shows neither an adjustment nor another label. */
  readonly hasPrices: boolean;
  /** Whether the newest value of a key has versions before it that a source knows. */
  readonly hasVersions: boolean;
}

/**
 * Names the rows of `diffs` (symbol, at, day, in_a, in_b, and each column as a_ and b_) by means of `spans` (symbol, side, first,
 * last), `days` (exchange, day, shared_a, shared_b: number of symbols, of those that both have, within the time in which both do), `labels` (symbol, at,
 * shift_ms), `repeats` (symbol, at, side) and `versions` (symbol, at: one side's values are those of an earlier version of the other).
 *
 * @returns a SELECT of the rows with `kinds`, a list of {@link DIFFERENCES}, the `power` of ten of a unit, the `ratio` of prices, and `shift_ms`.
 */
export function namedSql({ columns, hasPrices, hasVersions }: Compared): string {
  const isRounded = (name: string): boolean => name === "volume" || name === "amount";
  const differs = (name: string): string => differsSql(a(name), b(name));
  const both = "(in_a AND in_b)";
  const prices = hasPrices ? PRICES : [];
  const others = columns.filter((name) => !(prices as readonly string[]).includes(name));
  const priced = any(["false", ...prices.map(differs)]);
  const sum = (side: (name: string) => string): string => PRICES.map(side).join(" + ");
  const ratio = hasPrices ? `(${sum(b)}) / nullif(${sum(a)}, 0)` : "NULL::DOUBLE";
  const shift = hasPrices ? `((${sum(b)}) - (${sum(a)})) / 4` : "NULL::DOUBLE";
  const least = hasPrices
    ? `least(${PRICES.flatMap((name) => [`abs(${a(name)})`, `abs(${b(name)})`]).join(", ")})`
    : "NULL";
  const isScaled = hasPrices
    ? `(${every((name) => `abs(${b(name)} - ratio * ${a(name)}) <= ${2 * TICK} * greatest(1, ratio)`)} AND abs(ratio - 1) * least_price > ${4 * TICK})`
    : "false";
  const isMoved = hasPrices
    ? `(${every((name) => `abs(${b(name)} - ${a(name)} - moved) <= ${2 * TICK}`)} AND abs(moved) > ${4 * TICK})`
    : "false";
  const near = (name: string, tolerance: string): string =>
    any(
      ["lag", "lead"].map(
        (side) =>
          `(abs(${side}(${name}) OVER stretch - ${name}) <= ${tolerance}
            AND abs(date_diff('day', ${side}(day) OVER stretch, day)) <= ${STRETCH_DAYS})`,
      ),
    );
  // A split by ten changes prices and volume by ten, and no unit does.
  const isSplit = columns.includes("volume")
    ? `coalesce(${a("volume")} > 0 AND abs(${b("volume")} * ratio - ${a("volume")}) <= greatest(1, 0.01 * ${a("volume")}), false)`
    : "false";
  const priceUnit = hasPrices
    ? `CASE WHEN ${every((name) => `${unit(name)} = ${unit("close")}`)} AND NOT ${isSplit} THEN ${unit("close")} END`
    : "NULL::INTEGER";
  const otherKind = (name: string): string => {
    const share = name === "volume" || name === "amount" ? CORRECTED_SIZE : CORRECTED_PRICE;
    const inverse =
      name === "volume"
        ? `WHEN is_adjusted AND abs(${b(name)} * ratio - ${a(name)}) <= greatest(2, 0.01 * ${a(name)}) THEN 'adjustment'`
        : "";
    const along =
      name === "prev_close"
        ? "WHEN is_adjusted THEN 'adjustment' WHEN price_unit IS NOT NULL THEN 'unit'"
        : "";
    const missing = `WHEN ${a(name)} IS NULL OR ${b(name)} IS NULL THEN 'missing'`;
    return `CASE WHEN NOT ${differs(name)} THEN NULL ${missing} ${inverse} ${along}
      WHEN ${unit(name)} IS NOT NULL THEN 'unit' ${hasVersions ? "WHEN is_version THEN 'revised'" : ""}
      WHEN ${isCorrected(name, share)} THEN 'revised' ELSE 'value' END`;
  };
  const priceKind = `CASE WHEN NOT ${priced} THEN NULL WHEN price_unit IS NOT NULL THEN 'unit' WHEN is_adjusted THEN 'adjustment'
    WHEN ${all(["true", ...prices.map((name) => `coalesce(${isCorrected(name, CORRECTED_PRICE)}, false)`)])} THEN 'revised' ELSE 'value' END`;
  const oneSided = `CASE
    WHEN exchange_days >= ${CALENDAR_SYMBOLS} AND other_days < ${CALENDAR_SHARE} * exchange_days THEN 'calendar'
    WHEN day > symbol_last THEN 'stale' ELSE 'missing' END`;
  return `WITH facts AS (
      SELECT d.* EXCLUDE (exchange, other), ${columns.map((name) => `${unitSql(a(name), b(name), isRounded(name) ? 1 : 0)} AS ${unit(name)}`).join(", ")}, ${ratio} AS ratio, ${shift} AS moved, ${least} AS least_price,
        CASE WHEN in_a THEN n.shared_a ELSE n.shared_b END AS exchange_days, coalesce(CASE WHEN in_a THEN n.shared_b ELSE n.shared_a END, 0) AS other_days,
        s.last AS symbol_last, l.shift_ms, r.side AS repeated,
        ${hasVersions ? "v.symbol IS NOT NULL" : "false"} AS is_version
      FROM (SELECT *, CASE WHEN NOT ${both} THEN regexp_extract(symbol, '[^.]*$') END AS exchange,
          CASE WHEN ${both} THEN NULL WHEN in_a THEN 'b' ELSE 'a' END AS other FROM diffs) AS d
      LEFT JOIN days AS n ON n.exchange = d.exchange AND n.day = d.day
      LEFT JOIN spans AS s ON s.symbol = d.symbol AND s.side = d.other
      LEFT JOIN labels AS l ON l.symbol = d.symbol AND l."at" = d."at"
      LEFT JOIN repeats AS r ON r.symbol = d.symbol AND r."at" = d."at"
      ${hasVersions ? `LEFT JOIN versions AS v ON v.symbol = d.symbol AND v."at" = d."at"` : ""}),
    scaled AS (SELECT *, ${both} AND coalesce(${isScaled}, false) AS is_scaled, ${both} AND coalesce(${isMoved}, false) AS is_moved FROM facts),
    stretches AS (
      SELECT *, (is_scaled AND ${near("ratio", `${2 * TICK} / least_price * greatest(1, ratio)`)})
          OR (is_moved AND ${near("moved", String(2 * TICK))}) AS is_adjusted,
        ${priceUnit} AS price_unit
      FROM scaled WINDOW stretch AS (PARTITION BY symbol, is_scaled OR is_moved ORDER BY "at")),
    kinds AS (
      SELECT *, CASE WHEN shift_ms IS NOT NULL THEN ['label'] WHEN NOT ${both} THEN [${oneSided}]
          WHEN repeated IS NOT NULL THEN ['stale']
          ELSE list_distinct(list_filter([${[...(hasPrices ? [priceKind] : []), ...others.map(otherKind)].join(",\n            ")}], lambda x: x IS NOT NULL)) END AS kinds,
        coalesce(price_unit, ${others.length > 0 ? others.map((name) => `CASE WHEN ${differs(name)} THEN ${unit(name)} END`).join(", ") : "NULL"}) AS power
      FROM stretches)
    SELECT * FROM kinds`;
}

/**
 * Rows whose values the other source has under another label: equal numbers of the same symbol at another time. Bars that
 * did not move prove nothing.
 */
export function labelsSql({ columns, hasPrices }: Compared): string {
  const same = hasPrices ? [...PRICES, ...(columns.includes("volume") ? ["volume"] : [])] : columns;
  const told = hasPrices
    ? `${a("high")} > ${a("low")}`
    : `list_count([${columns.map((name) => a(name)).join(", ")}]) >= 2`;
  const equal = same.map((name) => `l.${a(name)} IS NOT DISTINCT FROM r.${b(name)}`);
  return `WITH pairs AS (
      SELECT l.symbol, l."at" AS a_at, r."at" AS b_at, epoch_ms(r."at"::TIMESTAMP) - epoch_ms(l."at"::TIMESTAMP) AS shift_ms
      FROM (FROM diffs WHERE in_a AND ${told}) AS l JOIN (FROM diffs WHERE in_b) AS r
        ON l.symbol = r.symbol AND ${equal.join(" AND ")}
      WHERE l."at" <> r."at" AND abs(date_diff('day', l.day, r.day)) <= ${hasPrices ? LABEL_DAYS : PERIOD_DAYS})
    SELECT symbol, "at", arg_min(shift_ms, abs(shift_ms)) AS shift_ms
    FROM (SELECT symbol, a_at AS "at", shift_ms FROM pairs UNION ALL SELECT symbol, b_at, shift_ms FROM pairs) GROUP BY ALL`;
}

/** Bars of a side that repeat its bar before, where the other side has another one. @param side a or b. */
export function repeatsSql(side: "a" | "b", relation: string, columns: readonly string[]): string {
  const same = [...PRICES, ...(columns.includes("volume") ? ["volume"] : [])];
  const value = side === "a" ? a : b;
  return `SELECT d.symbol, d."at", '${side}' AS side
    FROM (FROM diffs WHERE in_a AND in_b AND ${any(PRICES.map((name) => differsSql(a(name), b(name))))}) AS d
    ASOF JOIN (SELECT * FROM (${relation}) WHERE symbol IN (SELECT symbol FROM diffs WHERE in_a AND in_b)) AS p
      ON p.symbol = d.symbol AND p."at" < d."at"
    WHERE ${same.map((name) => `p.${ident(name)} IS NOT DISTINCT FROM d.${value(name)}`).join(" AND ")}`;
}
