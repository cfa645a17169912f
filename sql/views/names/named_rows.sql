-- Rows of stored symbols under the names that are asked for: one history for each name, through its renames. On a day on
-- which several symbols of a name have rows, those of the symbol that was valid then count.
-- Grain: that of the named relation, for each name. Inputs: symbol_names, the named relation.
-- Conditions on symbol and trade_date reach the named relation.
CREATE OR REPLACE MACRO named_rows(relation, names, as_of := NULL) AS TABLE
SELECT * EXCLUDE (preference, least_preference)
FROM (
  SELECT r.* REPLACE (n.name AS symbol), r.symbol AS stored_symbol, n.start_date, preference,
    min(preference) OVER (PARTITION BY n.name, r.trade_date) AS least_preference
  FROM query_table(relation) AS r
  JOIN (
    SELECT w.name, coalesce(s.symbol, w.name) AS symbol, coalesce(start_date, DATE '0001-01-01') AS start_date,
      coalesce(end_date, DATE '9999-12-31') AS end_date, coalesce(preference, 1) AS preference
    FROM (SELECT DISTINCT unnest(names) AS name) AS w
    LEFT JOIN symbol_names(as_of := as_of) AS s USING (name)
  ) AS n ON n.symbol = r.symbol AND r.trade_date >= n.start_date AND r.trade_date < n.end_date
  WHERE CAST(as_of AS DATE) IS NULL OR r.trade_date <= CAST(as_of AS DATE)
)
WHERE preference = least_preference;

COMMENT ON MACRO TABLE named_rows IS 'Rows of a table or view under the names that are asked for, through their renames: named_rows(''returns'', [''META.US'', ''FB.US'']). The rows of the relation, for each name.
relation: Name of a relation with the columns symbol and trade_date, as a text.
names: Symbols that are asked for. [list]
as_of: Date in the exchange''s own zone: later rows and changes are not seen; null: everything. [date]
-> symbol: The name that was asked for.
-> stored_symbol: Symbol under which the row is stored.
-> start_date: First day of the stretch in which the name is that of stored_symbol; 0001-01-01 where nothing says.';
