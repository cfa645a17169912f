"""Reads Delta tables, given as JSON [{path, version, symbol?, since?}], with Spark; prints what it found as JSON."""

import json
import sys

from pyspark.sql import functions as f
from session import open_session

TYPES = {
    "string": "string",
    "double": "double",
    "bigint": "int64",
    "int": "int32",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "array<string>": "string[]",
}


def value_of(name, kind):
    """int64 as text, instants as text of microseconds, dates as ISO text."""
    column = f.col(f"`{name}`")
    if kind == "timestamp":
        return f.unix_micros(column).cast("string")
    return column.cast("string") if kind in ("bigint", "date") else column


def found(spark, one):
    rows = spark.read.format("delta").option("versionAsOf", one["version"]).load(one["path"])
    if "symbol" in one:
        rows = rows.where(f.col("symbol") == one["symbol"])
    if "since" in one:
        rows = rows.where(f.col("timestamp") >= f.lit(one["since"]).cast("timestamp"))
    return {
        "version": one["version"],
        "columns": {name: TYPES.get(kind, kind) for name, kind in rows.dtypes},
        "rows": [list(row) for row in rows.select([value_of(*column) for column in rows.dtypes]).collect()],
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        wanted = json.load(file)
    spark = open_session()
    print(json.dumps({"Spark": [found(spark, one) for one in wanted]}))
