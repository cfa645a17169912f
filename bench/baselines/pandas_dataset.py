"""Daily bars, adjusted backward and aligned, with pandas: the script that one writes against a lake's Parquet files.

Reads one line of JSON from standard input: {"files": [...], "layout": "qlib", "wide" or "long", "output": "..."}.
"""

import json
import resource
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet  # noqa: F401, loaded before the clock runs

FIELDS = ["open", "high", "low", "close", "volume", "amount", "vwap", "factor"]
COLUMNS = ["symbol", "trade_date", "open", "high", "low", "close", "volume", "amount", "prev_close", "lot"]


def read(files):
    bars = pd.concat([pd.read_parquet(file, columns=COLUMNS) for file in files], ignore_index=True)
    bars = bars.sort_values(["symbol", "trade_date"], ignore_index=True)
    ratio = bars.groupby("symbol", sort=False)["close"].shift() / bars["prev_close"]
    ratio = ratio.where((ratio - 1).abs() >= 1e-9, 1.0).fillna(1.0)
    bars["factor"] = ratio.groupby(bars["symbol"], sort=False).cumprod()
    bars["vwap"] = bars["amount"] / (bars["volume"] * bars["lot"]) * bars["factor"]
    for name in ["open", "high", "low", "close"]:
        bars[name] *= bars["factor"]
    bars.loc[bars["volume"] == 0, FIELDS] = np.nan
    return bars


def qlib(bars, output):
    days = pd.Index(np.sort(bars["trade_date"].unique()))
    (output / "calendars").mkdir(parents=True)
    (output / "instruments").mkdir()
    (output / "calendars/day.txt").write_text("".join(f"{day}\n" for day in days))
    lines = []
    for symbol, rows in bars.groupby("symbol", sort=False):
        code, exchange = symbol.rsplit(".", 1)
        folder = output / "features" / f"{exchange}{code}".lower()
        folder.mkdir(parents=True)
        dates = rows["trade_date"]
        start, end = days.get_loc(dates.iloc[0]), days.get_loc(dates.iloc[-1])
        aligned = rows.set_index("trade_date").reindex(days[start : end + 1])
        for name in FIELDS:
            np.hstack([start, aligned[name].to_numpy()]).astype("<f4").tofile(folder / f"{name}.day.bin")
        lines.append(f"{exchange}{code}\t{dates.iloc[0]}\t{dates.iloc[-1]}\n")
    (output / "instruments/all.txt").write_text("".join(lines))


def wide(bars, output):
    output.mkdir(parents=True)
    for name in FIELDS:
        matrix = bars.pivot(index="trade_date", columns="symbol", values=name)
        matrix.to_parquet(output / f"{name}.parquet", compression="zstd")


def long(bars, output):
    for year, rows in bars.groupby(pd.to_datetime(bars["trade_date"]).dt.year):
        folder = output / f"year={year}"
        folder.mkdir(parents=True)
        rows[["symbol", "trade_date", *FIELDS]].to_parquet(folder / "rows.parquet", compression="zstd", index=False)


if __name__ == "__main__":
    print("ready", flush=True)
    order = json.loads(sys.stdin.readline())
    {"qlib": qlib, "wide": wide, "long": long}[order["layout"]](read(order["files"]), Path(order["output"]))
    print("done", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, flush=True)
