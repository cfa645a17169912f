"""Bars of symbols in ArcticDB on LMDB, a versioned symbol each.

Reads JSON lines from standard input. The first one, {"folder": ..., "files": [...]}, fills the library from Parquet files;
each further one, {"reads": [{"symbols": [...], "from": ..., "to": ...}]}, reads bars, dates as YYYY-MM-DD, `to`
exclusive. Writes {"rows": ..., "close": ..., "volume": ...} for each.
"""

import json
import sys

import arcticdb
import pandas as pd
import pyarrow.dataset as ds

COLUMNS = ["timestamp", "trade_date", "open", "high", "low", "close", "volume", "amount", "prev_close"]


def fill(folder, files):
    library = arcticdb.Arctic(f"lmdb://{folder}?map_size=20GB").create_library("bars")
    rows = ds.dataset(files).to_table(columns=["symbol", *COLUMNS]).to_pandas()
    rows["trade_date"] = pd.to_datetime(rows["trade_date"])
    rows = rows.sort_values(["symbol", "trade_date"], kind="stable").set_index("trade_date")
    payload = [arcticdb.WritePayload(symbol, own.drop(columns="symbol")) for symbol, own in rows.groupby("symbol")]
    for at in range(0, len(payload), 500):
        library.write_batch(payload[at : at + 500])
    return library


def read(library, order):
    first = pd.Timestamp(order["from"]) if order.get("from") else None
    last = pd.Timestamp(order["to"]) - pd.Timedelta(days=1) if order.get("to") else None
    span = (first, last)
    if len(order["symbols"]) == 1:
        return [library.read(order["symbols"][0], date_range=span).data]
    requests = [arcticdb.ReadRequest(symbol, date_range=span) for symbol in order["symbols"]]
    return [found.data for found in library.read_batch(requests)]


def main():
    order = json.loads(sys.stdin.readline())
    library = fill(order["folder"], order["files"])
    print("ready", flush=True)
    for line in sys.stdin:
        frames = [frame for one in json.loads(line)["reads"] for frame in read(library, one)]
        print("read", flush=True)
        sums = {name: sum(float(frame[name].sum()) for frame in frames) for name in ("close", "volume")}
        print(json.dumps({"rows": sum(len(frame) for frame in frames), **sums}), flush=True)


main()
