"""Runs the Python lines of the service's documentation against a service.

Arguments: a file with the lines, the service's address, and a key. Prints the columns and the number of rows that each
library has, and the sum of the closes, as JSON.
"""

import json
import sys

file, url, key = sys.argv[1:]
code = open(file).read().replace("http://127.0.0.1:8080", url).replace('"k"', json.dumps(key))
names = {}
exec(compile(code, file, "exec"), names)
polars, pandas, table, highest = (names[name] for name in ("frame", "pandas_frame", "table", "highest"))
print(
    json.dumps(
        {
            "polars": [dict(zip(polars.columns, map(str, polars.dtypes))), len(polars), polars["close"].sum()],
            "pandas": [list(pandas.columns), len(pandas), float(pandas["close"].sum())],
            "pyarrow": [table.schema.names, table.num_rows, sum(table["close"].to_pylist())],
            "versions": table.schema.metadata[b"versions"].decode(),
            "duckdb": [[symbol, close] for symbol, close in highest],
        }
    )
)
