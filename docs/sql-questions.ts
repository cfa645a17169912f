/** A question that `docs/sql.md` answers at its top. */
export interface Question {
  readonly ask: string;
  /** The views and macros that answer it: each has an entry of its own. */
  readonly answers: readonly string[];
  /** A statement over the demo's lake. */
  readonly example: string;
}

/**
 * How to get what, by subject. What no question names is a part of the views: `docs/sql.md` lists its name.
 */
export const QUESTIONS: Readonly<Record<string, readonly Question[]>> = {
  Prices: [
    {
      ask: "daily bars as they were traded",
      answers: ["bars_1d"],
      example: "from bars_1d where symbol = '600330.SH' order by trade_date",
    },
    {
      ask: "minutes",
      answers: ["bars_1m"],
      example: "from bars_1m where symbol = '600330.SH' and trade_date = '2026-11-20'",
    },
    {
      ask: "bars of 5 minutes to a year, unadjusted",
      answers: ["bars"],
      example: "from bars('1w') where symbol = '600330.SH'",
    },
    {
      ask: "prices adjusted for splits and dividends; as they were adjusted on a date",
      answers: ["adjusted"],
      example: "from adjusted('1d', 'forward', as_of := '2026-06-30') where symbol = '600330.SH'",
    },
    {
      ask: "daily returns; returns with dividends reinvested",
      answers: ["returns", "total_return"],
      example: "from returns where symbol = '600330.SH'",
    },
    {
      ask: "one history through changes of the symbol",
      answers: ["history", "histories", "named_rows", "symbol_names", "symbol_changes"],
      example: "from history('600330.SH', '1w', 'forward')",
    },
    {
      ask: "dividends, splits and rights issues; what was known of them",
      answers: ["corporate_actions", "corporate_action_versions"],
      example: "from corporate_actions where symbol = '600330.SH'",
    },
    {
      ask: "by how much prices are adjusted, and because of what",
      answers: ["ex_events", "ex_factors", "price_stretches", "restated_closes"],
      example: "from ex_events where symbol = '600330.SH'",
    },
  ],
  Trading: [
    {
      ask: "whether a symbol could be traded: suspended, new, special treatment, at its limit",
      answers: ["daily_status"],
      example: "from daily_status where trade_date = '2026-11-20' and not tradable",
    },
    {
      ask: "on which days a region traded",
      answers: ["trading_calendar", "unknown_spans"],
      example: "from trading_calendar where region = 'CN' order by trade_date desc limit 5",
    },
    {
      ask: "since when and until when there are bars of a symbol",
      answers: ["bar_spans"],
      example: "from bar_spans where region = 'HK'",
    },
  ],
  Companies: [
    {
      ask: "names, listing dates and lots, now or as of a date",
      answers: ["instruments", "instruments_asof", "instrument_versions", "exchanges"],
      example: "from instruments_asof('2026-06-30') where region = 'CN' limit 5",
    },
    {
      ask: "members of an index or a list, now or as of a date",
      answers: ["universes", "universe_members", "members"],
      example: "from members('SIM_CN_50', '2026-06-30')",
    },
    {
      ask: "market value, price to book and to earnings, of each day",
      answers: ["daily_valuation"],
      example: "from daily_valuation where symbol = '600330.SH' order by trade_date desc limit 5",
    },
    {
      ask: "each day with the statements or ratios that were known by then",
      answers: ["daily_fundamentals", "daily_metrics"],
      example: "from daily_fundamentals where symbol = '600330.SH' order by trade_date desc limit 5",
    },
    {
      ask: "the newest statements",
      answers: ["income", "balance_sheet", "cash_flow", "metrics", "shares"],
      example: "from income where symbol = '600330.SH' order by period_end",
    },
    {
      ask: "statements as they were known at a date",
      answers: ["statements_asof", "known_statements", "known_versions"],
      example: "from statements_asof('2026-06-30') where symbol = '600330.SH'",
    },
    {
      ask: "quarters, twelve months and growth, from each date on which they were known",
      answers: ["income_history", "cash_flow_history", "balance_sheet_history"],
      example: "from income_history where symbol = '600330.SH' order by known_from",
    },
    {
      ask: "how many companies of a year are still there",
      answers: ["survivors"],
      example: "from survivors",
    },
  ],
  "Can I trust it": [
    {
      ask: "missing sessions and minutes",
      answers: ["quality_gaps"],
      example: "from quality_gaps limit 5",
    },
    {
      ask: "broken, stale, doubled and doubtful bars",
      answers: ["quality_ohlc", "quality_outliers", "quality_stale", "quality_duplicates", "quality_units"],
      example: "from quality_outliers limit 5",
    },
    {
      ask: "rows that were set aside, and why",
      answers: ["rejects"],
      example: "from rejects limit 5",
    },
    {
      ask: "what runs asked for, and what came",
      answers: ["runs", "requests"],
      example: "from runs order by started_at desc limit 5",
    },
    {
      ask: "what changed in lists of instruments, universes and statements",
      answers: ["reference_changes"],
      example: "from reference_changes limit 5",
    },
  ],
};
