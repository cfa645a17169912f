import { namesSql, ofNamesSql, readNames, withExEvents } from "../../db/market/read-ex-rules.js";
import { IS_UNVOUCHED } from "../../db/market/unvouched-closes.js";
import { literal } from "../../db/quote.js";
import type { Reader } from "../../lake/open-reader.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import type {
  ActionReport,
  AnnouncedReport,
  ExEventReport,
  InstrumentReport,
  NameReport,
  StatementsReport,
  UnvouchedReport,
} from "../page-data.js";
import type { ListedInstrument } from "./instrument-lists.js";

/** Most statements that are marked in a chart: the newest ones. */
const MOST_ANNOUNCED = 400;
/** Most ex-events, and most corporate actions, that are listed: the newest ones. */
const MOST_EVENTS = 1000;
const MOST_PERIODS = 60;

/**
 * What the view of an instrument shows in addition to its bars. Most members are null for a symbol that the lake does
 * not know.
 *
 * @param compared symbols that it is compared with.
 */
export async function instrumentReport(
  { session }: Reader,
  list: readonly ListedInstrument[],
  symbol: string,
  compared: readonly string[],
): Promise<InstrumentReport> {
  const at = list.findIndex((one) => one.symbol === symbol);
  const { name = null, nameEn = null, type = null } = list[at] ?? {};
  const region = regionOf(symbol) ?? null;
  const [facts] = await session.json<{ exchange: string; listedOn: string | null }>(
    `SELECT exchange, listing_date::VARCHAR AS "listedOn" FROM instruments WHERE symbol = $1`,
    [symbol],
  );
  const stored = await readNames(session);
  const names = stored.has(symbol)
    ? await session.json<NameReport>(
        `SELECT symbol, nullif(start_date, DATE '0001-01-01')::VARCHAR AS "from" FROM symbol_names()
         WHERE name = $1 AND preference = 1 ORDER BY start_date`,
        [symbol],
      )
    : [];
  const own = (stored.get(symbol) ?? [symbol]).map(literal).join(", ");
  const [stated] = await session.json<{ any: boolean }>(
    `SELECT count(prev_close) > 0 AS "any" FROM raw.bars_1d
     WHERE symbol IN (${own})`,
  );
  const events = `name_events(${namesSql([symbol])}, events := 'of_names')`;
  const exEvents = await session.json<ExEventReport>(
    `${stored.has(symbol) ? ofNamesSql("ex_events", [symbol], stored) : ""}
     SELECT ex_date::VARCHAR AS day, last_close AS "lastClose", prev_close AS "prevClose", factor, witness, source
     FROM ${stored.has(symbol) ? events : "ex_events"} WHERE symbol = $1 ORDER BY ex_date DESC LIMIT ${MOST_EVENTS + 1}`,
    [symbol],
  );
  const actions = await session.json<ActionReport>(
    `SELECT coalesce(b.trade_date, a.ex_date)::VARCHAR AS day, a.ex_date::VARCHAR AS "exDate", kind, source, cash, ratio,
       price, currency, announce_date::VARCHAR AS announced, pay_date::VARCHAR AS paid
     FROM (
       FROM corporate_actions WHERE symbol IN (${own}) ORDER BY ex_date DESC, kind, source LIMIT ${MOST_EVENTS + 1}
     ) AS a
     ASOF LEFT JOIN (SELECT trade_date FROM raw.bars_1d WHERE symbol IN (${own})) AS b ON b.trade_date >= a.ex_date
     ORDER BY a.ex_date DESC, kind, source`,
  );
  const unvouched = await session.json<UnvouchedReport>(
    `SELECT trade_date::VARCHAR AS day, last_date::VARCHAR AS "last" FROM restated_closes AS r
     WHERE symbol IN (${own}) AND has_hole AND ${IS_UNVOUCHED} ORDER BY trade_date`,
  );
  const announced = await session.json<AnnouncedReport>(
    `SELECT day::VARCHAR AS day, "table", period_end::VARCHAR AS "periodEnd" FROM (${STATEMENTS.map(
      (table) =>
        `SELECT known_from AS day, '${table}' AS "table", period_end FROM known_versions('raw.${table}') WHERE symbol = $1`,
    ).join(" UNION ")}) ORDER BY day DESC, "table", "periodEnd" LIMIT ${MOST_ANNOUNCED}`,
    [symbol],
  );
  // Where one list is cut, both begin after the same day.
  const [before = ""] = [exEvents[MOST_EVENTS]?.day ?? "", actions[MOST_EVENTS]?.day ?? ""].sort().reverse();
  const isListed = ({ day }: { readonly day: string }): boolean => day > before;
  const adjusted = await withExEvents(session, compared, { stored });
  if (exEvents.length > 0) adjusted.add(symbol);
  const isKnown =
    at >= 0 ||
    exEvents.length + actions.length + announced.length > 0 ||
    (await session.json(`SELECT 1 FROM raw.bars_1m WHERE symbol IN (${own}) LIMIT 1`)).length > 0;
  return {
    symbol,
    isKnown,
    name,
    nameEn,
    type,
    region,
    names,
    exchange: facts?.exchange ?? null,
    listedOn: facts?.listedOn ?? null,
    previous: list[at - 1]?.symbol ?? null,
    next: at < 0 ? null : (list[at + 1]?.symbol ?? null),
    zone: region === null ? "UTC" : REGIONS[region].zone,
    statesPrevClose: stated?.any === true,
    exEvents: exEvents.filter(isListed).reverse(),
    actions: actions.filter(isListed).reverse(),
    hasEarlier: before !== "",
    adjusted: [...adjusted].sort(),
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
