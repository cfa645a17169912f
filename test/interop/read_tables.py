"""Reads Delta tables with delta-rs and pyarrow, and prints what they hold as one JSON object."""

import json
import sys

from deltalake import DeltaTable

lake, *names = sys.argv[1:]
found = {}
for name in names:
    table = DeltaTable(f"{lake}/{name}")
    rows = table.to_pyarrow_table()
    found[name] = {
        "version": table.version(),
        "partitions": table.metadata().partition_columns,
        "columns": {field.name: str(field.type) for field in rows.schema},
        "rows": rows.num_rows,
    }
bars = DeltaTable(f"{lake}/bars_1d").to_pyarrow_table().sort_by([("symbol", "ascending"), ("timestamp", "ascending")])
found["sample"] = [
    {key: str(value) for key, value in row.items()} for row in bars.select(
        ["symbol", "timestamp", "trade_date", "close", "volume", "prev_close", "region", "year"]
    ).slice(0, 3).to_pylist()
]
print(json.dumps(found))
