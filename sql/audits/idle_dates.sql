-- Audit: idle_dates
-- Severity: info
-- Dates on which a region's daily bars, three or more of them, all lack volume: a source that fills holidays with the
-- last close gives such bars. These bars count as bars without trades in returns and aggregates.
SELECT region, trade_date, strftime(trade_date, '%A') AS weekday, count(*) AS bars
FROM raw.bars_1d
GROUP BY region, trade_date
HAVING count(*) >= 3 AND max(volume) = 0
ORDER BY region, trade_date
