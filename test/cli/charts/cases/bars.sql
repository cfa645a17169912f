-- Bars are as long as their values, and those below zero have another hatch.
-- %% chart bar x=n y=v
SELECT * FROM (VALUES ('a', 10), ('b', -5), ('c', 0)) t(n, v)
