"""Writes to a lake's tables with Spark, one step a commit, and prints the name of each step as JSON."""

import json
import sys

from delta.tables import DeltaTable
from pyspark.sql import functions as f
from session import open_session

lake = sys.argv[1]
DAILY, EXCHANGES, SHEETS, REQUESTS = (f"{lake}/{name}" for name in ("bars_1d", "exchanges", "balance_sheet", "requests"))
US_2026 = "region = 'US' AND year = 2026"
spark = open_session()


def rows_of(path):
    return spark.read.format("delta").load(path)


def write(rows, path, mode="append", **options):
    rows.write.format("delta").mode(mode).options(**options).save(path)


def later(hours):
    return bars.withColumn("timestamp", f.expr(f"timestamp + INTERVAL {hours} HOURS"))


bars = rows_of(DAILY).orderBy("symbol", "timestamp").limit(3).localCheckpoint()
us = rows_of(DAILY).where(US_2026).orderBy("symbol", "timestamp").limit(40).localCheckpoint()

STEPS = {
    "append": lambda: write(later(1), DAILY),
    "append in another order": lambda: write(later(2).select(bars.columns[::-1]), DAILY),
    "append without columns": lambda: write(later(3).drop("prev_close", "settlement_price"), DAILY),
    "overwrite": lambda: write(us, DAILY, "overwrite", replaceWhere=US_2026),
    "update": lambda: spark.sql(f"UPDATE delta.`{DAILY}` SET close = close + 1 WHERE region = 'HK'"),
    "delete": lambda: spark.sql(f"DELETE FROM delta.`{DAILY}` WHERE region = 'CN' AND close < 12"),
    "compact": lambda: DeltaTable.forPath(spark, DAILY).optimize().executeCompaction(),
    "append after it": lambda: write(later(4), DAILY),
    "append to an odd partition": lambda: write(rows_of(EXCHANGES).where("exchange = 'X'").replace("X", "Y"), EXCHANGES),
    "append a column": lambda: write(
        rows_of(SHEETS).limit(1).withColumn("symbol", f.lit("600000.SH")).withColumn("extra", f.lit(1.5)),
        SHEETS,
        mergeSchema="true",
    ),
    "append lists": lambda: write(rows_of(REQUESTS).withColumn("run_id", f.lit("spark")), REQUESTS),
}

for step in STEPS.values():
    step()
print(json.dumps(list(STEPS)))
