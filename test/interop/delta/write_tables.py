"""Writes to a lake's tables with delta-rs and polars, one step a commit, and prints the name of each step as JSON.

With `vacuum` as second argument: deletes all that the newest versions do not need, after a checkpoint of each."""

import json
import sys
from datetime import timedelta

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

lake, *mode = sys.argv[1:]
DAILY, EXCHANGES, SHEETS, REQUESTS = (f"{lake}/{name}" for name in ("bars_1d", "exchanges", "balance_sheet", "requests"))
US_2026 = "region = 'US' AND year = 2026"


def rows_of(path, where=None):
    return DeltaTable(path).to_pyarrow_dataset().to_table(filter=where)


def replaced(rows, name, column):
    index = rows.schema.get_field_index(name)
    return rows.set_column(index, rows.schema.field(index), column)


def later(rows, **time):
    return replaced(rows, "timestamp", pc.add(rows["timestamp"], pa.scalar(timedelta(**time))))


def append(path, rows, **options):
    write_deltalake(path, rows, mode="append", **options)


bars = rows_of(DAILY).slice(0, 3)
us = rows_of(DAILY, (pc.field("region") == "US") & (pc.field("year") == 2026)).sort_by("symbol")
odd = rows_of(EXCHANGES, pc.field("exchange") == "X")
identity = CommitProperties(app_transactions=[Transaction("delta-rs/1", 7, 1_800_000_000_000)])
sheet = rows_of(SHEETS).slice(0, 1)
lists = rows_of(REQUESTS)

STEPS = {
    "append": lambda: append(DAILY, later(bars, hours=1)),
    "append in another order": lambda: append(DAILY, later(bars, hours=2).select(bars.column_names[::-1])),
    "append microseconds": lambda: append(DAILY, later(bars, hours=3, microseconds=123_457)),
    "append without a column": lambda: append(DAILY, later(bars, hours=4).drop("prev_close"), schema_mode="merge"),
    "append by polars": lambda: pl.from_arrow(later(bars, hours=5)).write_delta(DAILY, mode="append"),
    "overwrite": lambda: write_deltalake(DAILY, us.slice(0, 40), mode="overwrite", predicate=US_2026),
    "update": lambda: DeltaTable(DAILY).update(updates={"close": "close + 1"}, predicate="region = 'HK'"),
    "delete": lambda: DeltaTable(DAILY).delete("region = 'CN' AND close < 12"),
    "compact": lambda: DeltaTable(DAILY).optimize.compact(),
    "z-order": lambda: DeltaTable(DAILY).optimize.z_order(["symbol"]),
    "append to an odd partition": lambda: append(EXCHANGES, replaced(odd, "exchange", pa.array(["Y"]))),
    "append a column": lambda: append(
        SHEETS, replaced(sheet, "symbol", pa.array(["600000.SH"])).append_column("extra", pa.array([1.5])), schema_mode="merge"
    ),
    "append lists": lambda: append(REQUESTS, replaced(lists, "run_id", pa.array(["delta-rs"] * lists.num_rows))),
    "append with an identity": lambda: append(DAILY, later(bars, hours=6), commit_properties=identity),
}


if mode == ["vacuum"]:
    for path in (DAILY, EXCHANGES, SHEETS, REQUESTS):
        DeltaTable(path).create_checkpoint()
        DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        DeltaTable(path).cleanup_metadata()
else:
    for step in STEPS.values():
        step()
print(json.dumps(list(STEPS)))
