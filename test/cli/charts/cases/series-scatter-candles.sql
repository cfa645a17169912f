-- %% chart line x=i y=v color=g
SELECT i, i % 3 AS v, 'g' || i % 2 AS g FROM range(10) t(i)
-- %% chart scatter x=i y=v log=y
SELECT i, i + 1 AS v FROM range(10) t(i)
-- %% chart candlestick x=d
SELECT DATE '2026-01-01' + i::INTEGER AS d, 10 + i AS open, 12 + i AS high, 9 + i AS low, 11 + i AS close, 5 AS volume FROM range(10) t(i)
