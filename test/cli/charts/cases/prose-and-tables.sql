-- # Head
-- Words.
-- %% table rows=2 percent=r title=Rows
SELECT i, i / 4 AS r FROM range(9) t(i)
-- %%
CREATE TEMP TABLE x AS SELECT 1
-- %% table empty=Nothing.
SELECT 1 WHERE false
