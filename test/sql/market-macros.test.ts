import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import {
  adjustedPriceSql,
  BAR_AGGREGATES,
  int64Sql,
  returnBaseSql,
  returnSql,
  sharesSql,
  statedPriceSql,
  unitsSql,
} from "../../src/db/market/bar-sql.js";
import { sessionGridEndSql, sessionPartEndSql, sessionPartStartSql } from "../../src/db/market/bucket-sql.js";
import { exTermsSql, isExEventSql, isUnknownStretchSql } from "../../src/db/market/ex-terms-sql.js";
import {
  downLimitSql,
  firstLimitSql,
  isAtLimitDownSql,
  isAtLimitUpSql,
  isNearLimitSql,
  isRefutedSql,
  isTradableSql,
  limitPercentSql,
  limitsFromSql,
  priceDecimalsSql,
  unlimitedSessionsSql,
} from "../../src/db/market/limit-sql.js";
import {
  isSessionMinuteSql,
  localMidnightSql,
  lotSql,
  sessionMinutesSql,
  tradeDateSql,
} from "../../src/db/market/region-sql.js";
import { fiscalQuarterSql, twelveMonthsSql } from "../../src/db/market/statement-sql.js";
import { ADJUSTMENTS, BUCKETS, PERIODS } from "../../src/market/period.js";
import { LIMIT_TOLERANCE } from "../../src/market/price-limits.js";
import { SESSION_HOURS } from "../../src/market/sessions.js";

/** The files of `sql/views/rules`: the parameters of each macro, and the expression that the rule gives for these. */
const MACROS: Readonly<Record<string, readonly [parameters: string, sql: (...names: string[]) => string]>> = {
  adjusted_price: ["price, adjustment, step", (price, sql, step) => adjustedPriceSql(price, { sql }, step)],
  fiscal_quarter: ["region, month, flow, ago3, ago6, ago9, ago12", fiscalQuarterSql],
  is_ex_event: ["last_close, prev_close", isExEventSql],
  is_session_minute: ["region, local_time", isSessionMinuteSql],
  is_unknown_stretch: ["after_date, before_date", isUnknownStretchSql],
  local_date: ["instant, region", tradeDateSql],
  local_midnight: ["trade_date, region", (date, region) => localMidnightSql(date, region)],
  region_lot: ["region", (region) => lotSql(region)],
  session_bar_end: [
    "region, local_ms, step_ms",
    (region, local, step) =>
      `session_grid_end(${region}, ${local}, ${step}, session_part_start(${region}, ${local}), session_part_end(${region}, ${local}))`,
  ],
  session_grid_end: [
    "region, local_ms, step_ms, part_start, part_end",
    (region, local, step, start, end) => sessionGridEndSql(region, local, step, start, end),
  ],
  session_minutes: ["region", sessionMinutesSql],
  session_part_end: ["region, local_ms", (region, local) => sessionPartEndSql(region, local)],
  session_part_start: ["region, local_ms", (region, local) => sessionPartStartSql(region, local)],
  shares_of: ["volume, lot", sharesSql],
  stated_price: ["price, close", statedPriceSql],
  twelve_months: ["quarter, flow, ago3, ago6, ago9, ago12", twelveMonthsSql],
  units_of: ["shares, unit", unitsSql],
  "limits/at_limit_down": ["price, limit_price", isAtLimitDownSql],
  "limits/at_limit_up": ["price, limit_price", isAtLimitUpSql],
  "limits/is_near_limit": ["low, high, close, prev_close", isNearLimitSql],
  "limits/is_tradable": [
    "volume, low, high, limit_up_price, limit_down_price",
    (volume, low, high, limitUp, limitDown) => isTradableSql({ volume, low, high, limitUp, limitDown }),
  ],
  "limits/limit_percent": ["symbol, trade_date, type, name", limitPercentSql],
  "limits/down_limit": ["percent", downLimitSql],
  "limits/first_limit": ["symbol, listing_date, sessions", firstLimitSql],
  "limits/is_refuted": ["volume, low, high, limit_up_price, limit_down_price", isRefutedSql],
  "limits/limits_from": ["listing_date, sessions, listed_session, sixth_session", limitsFromSql],
  "limits/unlimited_sessions": ["symbol, type, listing_date", unlimitedSessionsSql],
  "limits/price_decimals": ["symbol, type", priceDecimalsSql],
};

/** The last line of each macro's header: how it is changed. */
const WRITTEN =
  "-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.";

const pathOf = (path: string): string => new URL(`../../sql/${path}`, import.meta.url).pathname;
const textOf = (path: string): string => readFileSync(pathOf(path), "utf8");

/** An expression with a line for each branch of a CASE. */
function layout(sql: string): string {
  let depth = 1;
  return sql.replaceAll(/\bCASE\b| (WHEN|ELSE|END)\b/g, (word, branch?: string) => {
    if (branch === undefined) depth++;
    if (branch === "END") depth--;
    return branch === undefined ? word : `\n${"  ".repeat(depth)}${branch}`;
  });
}

test.each(Object.entries(MACROS))(
  "sql/views/rules/%s.sql has the expression of its rule; vitest -u writes it",
  async (path, [parameters, sql]) => {
    const text = textOf(`views/rules/${path}.sql`).replace(
      /^(?:-- The expression is written .*\n)?CREATE/m,
      `${WRITTEN}\nCREATE`,
    );
    const statement = `CREATE OR REPLACE MACRO ${basename(path)}(${parameters}) AS\n  ${layout(sql(...parameters.split(", ")))};`;
    const expected = text.replace(/^CREATE OR REPLACE MACRO [^;]*;/m, () => statement);
    expect(expected).toContain(statement);
    await expect(expected).toMatchFileSnapshot(pathOf(`views/rules/${path}.sql`));
  },
);

test("sql/views/adjustment/ex_terms.sql has the query of its rule; vitest -u writes it", async () => {
  const day = "coalesce(CAST(as_of AS DATE), DATE '9999-12-30')";
  const isKnown = `known_from <= ${day} AND known_to > ${day}`;
  const terms = exTermsSql("corporate_action_versions", "raw.ex_factors", isKnown);
  const statement = `CREATE OR REPLACE MACRO ex_terms(as_of := NULL) AS TABLE\n${terms};`;
  const expected = textOf("views/adjustment/ex_terms.sql").replace(
    /^CREATE OR REPLACE MACRO [^;]*;/m,
    () => statement,
  );
  await expect(expected).toMatchFileSnapshot(pathOf("views/adjustment/ex_terms.sql"));
});

const flat = (sql: string): string => sql.replaceAll(/\s+/g, " ");

test("adjusted aggregates minutes and days as the service does", () => {
  const { open, high, low, close, amount, prev_close, open_interest, settlement_price } = BAR_AGGREGATES;
  const named = (values: Readonly<Record<string, string>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${value} AS ${name}`)
      .join(", ");
  const rest = named({ amount, prev_close, open_interest, settlement_price });
  const shares = `${int64Sql("sum(shares)")} AS shares`;
  const expected = `${named({ open, high, low, close })}, units_of(sum(shares), unit) AS volume, ${rest}, unit AS lot, ${shares}`;
  for (const name of ["adjusted_minutes", "adjusted_days"])
    expect(flat(textOf(`views/adjustment/${name}.sql`))).toContain(expected);
});

test("daily bars and minutes have the same columns, computed in the same way", () => {
  for (const folder of ["views", "trino"]) {
    const query = (name: string, partition: string): string =>
      /SELECT .*? FROM raw\.\w+;/
        .exec(flat(textOf(`${folder}/bars/${name}.sql`)))?.[0]
        .replace(`raw.${name}`, "raw.bars")
        .replace(new RegExp(`"?\\b${partition}\\b"? FROM`), "partition FROM") ?? name;
    expect(query("bars_1m", "month")).toBe(query("bars_1d", "year"));
    expect(query("bars_1d", "year")).toContain("partition FROM raw.bars;");
  }
});

test("returns start from the price that the rule gives", () => {
  const base = returnBaseSql("prev_close", 'lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp")');
  for (const folder of ["views", "trino"]) {
    const sql = flat(textOf(`${folder}/bars/returns.sql`)).replaceAll("is_finite(", "isfinite(");
    expect(sql).toContain(`${base} AS base`);
    expect(sql).toContain(`${returnSql("close", "base")} AS simple_return`);
  }
});

test("the example of a backtest has the tolerance of the price limits", () => {
  const example = readFileSync(new URL("../../docs/examples/moving-average.ts", import.meta.url), "utf8");
  expect(example).toContain(`at("top", row) - ${LIMIT_TOLERANCE})`);
  expect(example).toContain(`at("bottom", row) + ${LIMIT_TOLERANCE})`);
});

test("adjusted knows every period and adjustment, and says so", () => {
  const [sql, faults] = ["adjusted", "adjusted_fault"].map((name) =>
    flat(textOf(`views/adjustment/${name}.sql`)),
  );
  const list = (names: readonly string[]): string => `(${names.map((name) => `'${name}'`).join(", ")})`;
  for (const names of [PERIODS, ADJUSTMENTS]) {
    expect(faults).toContain(`NOT IN ${list(names)}`);
    expect(faults).toContain(` is none of ${names.join(", ")}'`);
  }
  const ofKind = (kind: string): string => list(PERIODS.filter((period) => BUCKETS[period].kind === kind));
  for (const kind of ["landed", "minutes", "calendar"]) expect(sql).toContain(`period IN ${ofKind(kind)}`);
});

test("the midday break of the audit of minute labels is the one of the sessions", () => {
  const time = (minute = 0): string =>
    `TIME '${[Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, "0")).join(":")}'`;
  const [cn, hk] = [SESSION_HOURS.CN.parts, SESSION_HOURS.HK.parts];
  expect(cn[1]?.[0]).toBe(hk[1]?.[0]);
  expect(textOf("audits/minute_labels.sql")).toContain(
    `local_time > CASE region WHEN 'CN' THEN ${time(cn[0]?.[1])} ELSE ${time(hk[0]?.[1])} END AND local_time <= ${time(cn[1]?.[0])}`,
  );
});

test("the folder of rules has these macros and nothing else", () => {
  const files = readdirSync(pathOf("views/rules"), { recursive: true, encoding: "utf8" });
  const names = files.filter((file) => file.endsWith(".sql")).map((file) => file.replace(/\.sql$/, ""));
  expect(names.sort()).toEqual(Object.keys(MACROS).sort());
});

test("no other file states a lot, a tolerance, the threshold of an ex-event or a pattern of symbols", () => {
  const others = readdirSync(pathOf("."), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sql"))
    .filter((file) => !file.startsWith("views/rules/"));
  expect(others.length).toBeGreaterThan(40);
  for (const file of others) {
    const code = textOf(file).replaceAll(/--.*|COMMENT ON [^;]*;/g, "");
    expect(code, file).not.toMatch(
      /0\.0005|1e-9|WHEN 'CN' THEN 100|volume \* (\w+\.)?lot|Asia\/Shanghai|\\d\{\d\}/,
    );
  }
});
