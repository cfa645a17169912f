-- A line goes from corner to corner, and its ends are named.
-- %% chart line x=d y=v
SELECT DATE '2026-01-01' + i::INTEGER AS d, i AS v FROM range(11) t(i)
