-- Days on which the price level of a symbol changes: a dividend, a split, a rights issue. See
-- sql/views/adjustment/ex_events_until.sql.
-- Grain: one row for each symbol and ex-date. Inputs: restated_closes, raw.corporate_actions, raw.ex_factors.
CREATE OR REPLACE VIEW ex_events AS
SELECT
  symbol,
  trade_date AS ex_date,
  last_close,
  prev_close,
  CASE WHEN is_told AND line.paid = 0 THEN line.shares ELSE last_close / price END AS factor,
  last_close - price AS amount,
  CASE WHEN is_told THEN witness ELSE 'prev_close' END AS witness,
  CASE WHEN is_told THEN source END AS source,
  CASE WHEN is_told AND "close" > 0 AND line.shares * "close" > line.paid THEN line.shares - line.paid / "close" ELSE last_close / price END
    AS reinvested,
  region
FROM (
  SELECT *, CASE WHEN is_told THEN (last_close + line.paid) / line.shares WHEN NOT has_hole THEN prev_close END AS price
  FROM (
    SELECT *,
      coalesce((last_close + line.paid) / line.shares > 0
        AND is_finite((last_close + line.paid) / line.shares), false) AS is_told
    FROM (
      SELECT symbol, trade_date, last_close, "close", prev_close, has_hole, region, witness, source,
        CASE WHEN terms IS NOT NULL THEN reduce(
          filter(terms, t -> has_hole OR has_session OR (t.witness = witness AND t.source = source)),
          CAST(ROW(1e0, 0e0) AS ROW(shares DOUBLE, paid DOUBLE)),
          (one, term) -> CAST(ROW(one.shares * term.shares, one.paid + term.paid * one.shares) AS ROW(shares DOUBLE, paid DOUBLE)),
          one -> one) END AS line
      FROM (
        SELECT r.symbol, r.trade_date, r.last_close, r."close", r.prev_close, r.has_hole, r.has_session, r.region,
          array_agg(
            CAST(ROW(
              CASE WHEN r.has_hole AND t.paid > 0 THEN 1e0 ELSE t.shares END,
              CASE WHEN r.has_hole THEN 0e0 ELSE t.paid END, t.witness, t.source
            ) AS ROW(shares DOUBLE, paid DOUBLE, witness VARCHAR, source VARCHAR)) ORDER BY t.ex_date) FILTER (WHERE t.symbol IS NOT NULL)
            AS terms,
          max_by(t.witness, t.ex_date) AS witness,
          max_by(t.source, t.ex_date) AS source
        FROM restated_closes AS r
        LEFT JOIN (SELECT * FROM ex_terms(raw.corporate_actions, raw.ex_factors) WHERE priority = 1) AS t
          ON t.symbol = r.symbol AND t.ex_date > r.last_date AND t.ex_date <= r.trade_date
        GROUP BY r.symbol, r.trade_date, r.last_close, r."close", r.prev_close, r.has_hole, r.has_session, r.region
      )
    )
  )
)
WHERE is_ex_event(last_close, price);

COMMENT ON VIEW ex_events IS 'Days on which the price level changes: dividends, splits, rights issues, from factors, corporate actions or the stated previous close. One row for each symbol and ex-date.';
