-- Series share the places of the texts: the lines are those of one series.
-- %% chart line x=m y=v color=g
SELECT * FROM (VALUES ('a', 'b1', 1), ('b', 'b1', 2), ('a', 'b2', 1), ('b', 'b2', 2)) t(m, g, v)
-- %% chart line x=m y=v
SELECT * FROM (VALUES ('a', 1), ('b', 2)) t(m, v)
