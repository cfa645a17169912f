-- A heatmap is a table of all columns, or several below each other: of the newest columns where not all fit.
-- %% chart heatmap x=m y=y color=v
SELECT 'm' || lpad(i::VARCHAR, 2, '0') AS m, 2026 AS y, i AS v FROM range(30) t(i)
