-- A histogram counts all values.
-- %% chart histogram x=v bins=4
SELECT i AS v FROM range(100) t(i)
