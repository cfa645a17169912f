import type { Reader } from "../../lake/open-reader.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import type {
  AnnouncedReport,
  ExEventReport,
  InstrumentReport,
  StatementsReport,
  UnvouchedReport,
} from "../page-data.js";
import type { ListedInstrument } from "./find-instruments.js";

/** Most statements that are marked in a chart: the newest ones. */
const MOST_ANNOUNCED = 400;
/** Most periods in the table of statements. */
const MOST_PERIODS = 60;

/**
 * What the view of an instrument shows in addition to its bars. Most members are null for a symbol that the lake does
 * not know.
 */
export async function instrumentReport(
  { session }: Reader,
  list: readonly ListedInstrument[],
  symbol: string,
): Promise<InstrumentReport> {
  const at = list.findIndex((one) => one.symbol === symbol);
  const { name = null, nameEn = null, type = null } = list[at] ?? {};
  const region = regionOf(symbol) ?? null;
  const [facts] = await session.json<{ exchange: string; listedOn: string | null }>(
    `SELECT exchange, listing_date::VARCHAR AS "listedOn" FROM instruments WHERE symbol = $1`,
    [symbol],
  );
  const [stated] = await session.json<{ any: boolean }>(
    `SELECT count(prev_close) > 0 AS "any" FROM raw.bars_1d WHERE symbol = $1`,
    [symbol],
  );
  const exEvents = await session.json<ExEventReport>(
    `SELECT ex_date::VARCHAR AS day, last_close AS "lastClose", prev_close AS "prevClose"
     FROM ex_events WHERE symbol = $1 ORDER BY ex_date`,
    [symbol],
  );
  const unvouched = await session.json<UnvouchedReport>(
    `SELECT trade_date::VARCHAR AS day, last_date::VARCHAR AS "last" FROM restated_closes AS r
     ANTI JOIN ex_events AS e ON e.symbol = r.symbol AND e.ex_date = r.trade_date
     WHERE symbol = $1 ORDER BY trade_date`,
    [symbol],
  );
  const announced = await session.json<AnnouncedReport>(
    `SELECT day::VARCHAR AS day, "table", period_end::VARCHAR AS "periodEnd" FROM (${STATEMENTS.map(
      (table) =>
        `SELECT known_from AS day, '${table}' AS "table", period_end FROM known_versions('raw.${table}') WHERE symbol = $1`,
    ).join(" UNION ")}) ORDER BY day DESC, "table" LIMIT ${MOST_ANNOUNCED}`,
    [symbol],
  );
  return {
    symbol,
    name,
    nameEn,
    type,
    region,
    exchange: facts?.exchange ?? null,
    listedOn: facts?.listedOn ?? null,
    previous: list[at - 1]?.symbol ?? null,
    next: at < 0 ? null : (list[at + 1]?.symbol ?? null),
    zone: region === null ? "UTC" : REGIONS[region].zone,
    statesPrevClose: stated?.any === true,
    exEvents,
    unvouched,
    announced: announced.reverse(),
  };
}

const STATEMENTS = ["balance_sheet", "cash_flow", "income"];

/** The columns of the table of statements, which come from `statements_asof`. */
const COLUMNS: StatementsReport["columns"] = [
  { name: "period_end", unit: "date" },
  { name: "known_from", unit: "date" },
  { name: "revenue", unit: "currency" },
  { name: "net_income_attributable", unit: "currency" },
  { name: "gross_margin", unit: "ratio" },
  { name: "net_operating_cash_flow", unit: "currency" },
  { name: "free_cash_flow", unit: "currency" },
  { name: "total_assets", unit: "currency" },
  { name: "total_liabilities", unit: "currency" },
  { name: "book_value", unit: "currency" },
  { name: "debt_to_assets", unit: "ratio" },
];

/** Statements as they were known at the end of a day. @param known the day; undefined: as known now. */
export async function statementsReport(
  { session }: Reader,
  symbol: string,
  known: string | undefined,
): Promise<StatementsReport> {
  const values = COLUMNS.slice(2).map(({ name }) => `${name}::DOUBLE AS ${name}`);
  const rows = await session.json<Record<string, number | string | null>>(
    `SELECT greatest(balance_sheet_period_end, cash_flow_period_end, income_period_end)::VARCHAR AS period_end,
       greatest(balance_sheet_known_from, cash_flow_known_from, income_known_from)::VARCHAR AS known_from,
       ${values.join(", ")}
     FROM statements_asof(as_of := CAST($2 AS DATE)) WHERE symbol = $1 ORDER BY month DESC LIMIT ${MOST_PERIODS}`,
    [symbol, known ?? null],
  );
  return { columns: COLUMNS, rows: rows.map((row) => COLUMNS.map(({ name }) => row[name] ?? null)) };
}
