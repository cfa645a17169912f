-- Days on which the price level of a symbol changes, with what shows it. Of several witnesses one counts, in this order: the
-- factor that a source states, the corporate actions of the day, and the stated previous close where it differs from the close
-- of the bar before. An ex-date without a bar counts on the day of the next one; several of them follow one another. Where no
-- session lies between the two bars they are of one session, and only those of the source of the last one count: another
-- source may have the same event with a holiday as its date. Over a hole (restated_closes), where the close of the session
-- before is not known, only shares and factors count, but no cash, no rights (of whose shares a part is paid for) and no
-- previous close: the audit unvouched_closes names these days.
-- Grain: one row for each symbol and ex-date. Inputs: the named relations, is_ex_event.
CREATE OR REPLACE MACRO ex_events_of(closes, terms) AS TABLE
SELECT
  symbol,
  trade_date AS ex_date,
  last_close,
  prev_close,
  CASE WHEN is_told AND line.paid = 0 THEN line.shares ELSE last_close / price END AS factor,
  last_close - price AS amount,
  CASE WHEN is_told THEN witness ELSE 'prev_close' END AS witness,
  CASE WHEN is_told THEN source END AS source,
  CASE WHEN is_told AND close > 0 AND line.shares * close > line.paid THEN line.shares - line.paid / close ELSE last_close / price END
    AS reinvested,
  region
FROM (
  SELECT *, CASE WHEN is_told THEN (last_close + line.paid) / line.shares WHEN NOT has_hole THEN prev_close END AS price
  FROM (
    SELECT *,
      coalesce((last_close + line.paid) / line.shares > 0
        AND isfinite((last_close + line.paid) / line.shares), false) AS is_told
    FROM (
      SELECT symbol, trade_date, last_close, close, prev_close, has_hole, region, said[-1].witness AS witness, said[-1].source AS source,
        list_reduce(
          list_transform(
            list_filter(said, lambda one: has_hole OR has_session
              OR (one.witness = said[-1].witness AND one.source = said[-1].source)),
            lambda one: {
              'shares': CASE WHEN has_hole AND one.paid > 0 THEN 1 ELSE one.shares END,
              'paid': CASE WHEN has_hole THEN 0 ELSE one.paid END
            }),
          lambda one, next: {'shares': one.shares * next.shares, 'paid': one.paid + next.paid * one.shares}) AS line
      FROM (
        SELECT r.symbol, r.trade_date, r.last_close, r.close, r.prev_close, r.has_hole, r.has_session, r.region,
          list({'shares': t.shares, 'paid': t.paid, 'witness': t.witness, 'source': t.source} ORDER BY t.ex_date)
            FILTER (t.symbol IS NOT NULL) AS said
        FROM query_table(closes) AS r
        LEFT JOIN query_table(terms) AS t ON t.symbol = r.symbol AND t.ex_date > r.last_date AND t.ex_date <= r.trade_date
        GROUP BY r.symbol, r.trade_date, r.last_close, r.close, r.prev_close, r.has_hole, r.has_session, r.region
      )
    )
  )
)
WHERE is_ex_event(last_close, price);

COMMENT ON MACRO TABLE ex_events_of IS 'Days on which the price level changes: the rule of ex_events. One row for each symbol and ex-date. The columns of ex_events.
closes: Name of a relation with the rows of restated_closes.
terms: Name of a relation with one row of ex_terms for each symbol and ex-date.';
