"""Reads the views of a lake's database again and again while another process lands, and prints what it saw as JSON.

Usage: python -m read_views DATABASE STOP_FILE
"""

import json
import os
import sys
import time

import duckdb

database, stop_file = sys.argv[1:]
QUERY = "SELECT trade_date, count(*) AS bars, sum(close) AS closes FROM bars_1d GROUP BY trade_date ORDER BY trade_date"

readings = []
stopping = False
while not stopping:
    # What is landed before this question is asked is seen by the reading after it.
    stopping = os.path.exists(stop_file)
    with duckdb.connect(database, read_only=True) as lake:
        pandas = lake.sql(QUERY).df()
        polars = lake.sql(QUERY).pl()
        adjusted = lake.sql("SELECT count(*) FROM adjusted('1d', 'forward')").fetchall()[0][0]
    readings.append(
        {
            "pandas": [int(pandas["bars"].sum()), float(pandas["closes"].sum())],
            "polars": [int(polars["bars"].sum()), float(polars["closes"].sum())],
            "adjusted": adjusted,
        }
    )
    time.sleep(0.01)

print(json.dumps({"duckdb": duckdb.__version__, "readings": readings}))
