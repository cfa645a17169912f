"""Reads Delta tables, given as JSON [{path, version, symbol?, since?}], with several engines, named after the file; prints what each found as JSON."""

import json
import logging
import os
import sys
from datetime import datetime

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from deltalake import DeltaTable, QueryBuilder

TYPES = {
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.float64(): "double",
    pa.int64(): "int64",
    pa.int32(): "int32",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
}


def type_of(kind):
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_list_view(kind):
        return f"{type_of(kind.value_type)}[]"
    return TYPES.get(kind, str(kind))


def values_of(column):
    """int64 as text, instants as text of microseconds, dates as ISO text."""
    if kinds.is_timestamp(column.type):
        column = column.cast(pa.int64())
    texts = column.type in (pa.int64(), pa.date32())
    return [str(value) if texts and value is not None else value for value in column.to_pylist()]


def found(version, rows):
    return {
        "version": version,
        "columns": {field.name: type_of(field.type) for field in rows.schema},
        "rows": list(zip(*(values_of(column) for column in rows.columns))),
    }


def by_delta_rs(table, symbol, since):
    """delta-rs' own query engine."""
    where = "true" if symbol is None else "symbol = '{}'".format(symbol.replace("'", "''"))
    where += "" if since is None else f" AND timestamp >= TIMESTAMP '{since.isoformat()}'"
    return pa.table(QueryBuilder().register("t", table).execute(f"SELECT * FROM t WHERE {where}").read_all())


def by_pyarrow(table, symbol, since):
    """pyarrow's reader of data sets, over the files that delta-rs names."""
    where = pc.scalar(True) if symbol is None else pc.field("symbol") == symbol
    where = where if since is None else where & (pc.field("timestamp") >= pa.scalar(since, pa.timestamp("us", "UTC")))
    return table.to_pyarrow_dataset().to_table(filter=where)


def by_polars(table, symbol, since):
    """polars' own reader of Parquet, over the files that delta-rs names."""
    rows = pl.scan_delta(table.table_uri, version=table.version())
    rows = rows if symbol is None else rows.filter(pl.col("symbol") == symbol)
    rows = rows if since is None else rows.filter(pl.col("timestamp") >= since)
    return rows.collect().to_arrow()


def sql_where(symbol, since, instant):
    conditions = [] if symbol is None else ["symbol = '{}'".format(symbol.replace("'", "''"))]
    return " AND ".join(conditions + ([] if since is None else [f"timestamp >= {instant}"])) or "true"


def by_datafusion(table, symbol, since):
    """DataFusion's own Python, over the table that delta-rs provides."""
    from datafusion import SessionContext

    context = SessionContext()
    context.register_table("t", table)
    where = sql_where(symbol, since, since and f"TIMESTAMP '{since.isoformat()}'")
    return context.sql(f"SELECT * FROM t WHERE {where}").to_arrow_table()


def by_daft(table, symbol, since):
    """Daft's reader of Parquet, over the files that delta-rs names."""
    import daft

    rows = daft.read_deltalake(table.table_uri, version=table.version())
    rows = rows if symbol is None else rows.where(rows["symbol"] == symbol)
    rows = rows if since is None else rows.where(rows["timestamp"] >= daft.lit(since))
    return rows.to_arrow()


def by_clickhouse(table, symbol, since):
    """ClickHouse in chdb, by its own reader of the log; it reads below the working directory alone."""
    import chdb

    folder = table.table_uri.removeprefix("file://")
    os.chdir(folder)
    escaped = symbol and symbol.replace("\\", "\\\\")
    where = sql_where(escaped, since, since and f"fromUnixTimestamp64Micro({int(since.timestamp())}000000)")
    names = ", ".join(f"`{field.name}`" for field in table.schema().fields)
    settings = f"SETTINGS delta_lake_snapshot_version = {table.version()}, session_timezone = 'UTC', output_format_arrow_string_as_string = 1"
    source = "deltaLakeLocal('{}')".format(folder.replace("'", "\\'"))
    return chdb.query(f"SELECT {names} FROM {source} WHERE {where} {settings}", "ArrowTable")


def read(engine, one):
    table = DeltaTable(one["path"], version=one["version"])
    since = one.get("since") and datetime.fromisoformat(one["since"])
    return found(table.version(), engine(table, one.get("symbol"), since))


logging.disable()  # Daft warns of each table that it reads as a whole.

ENGINES = {
    "delta-rs": by_delta_rs,
    "pyarrow": by_pyarrow,
    "polars": by_polars,
    "DataFusion": by_datafusion,
    "Daft": by_daft,
    "ClickHouse": by_clickhouse,
}

with open(sys.argv[1]) as file:
    wanted = json.load(file)
print(json.dumps({name: [read(engine, one) for one in wanted] for name, engine in ENGINES.items() if name in sys.argv[2:]}))
