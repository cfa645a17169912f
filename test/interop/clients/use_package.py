"""Uses the Python package over a lake and over its service, runs the lines of its document, and prints what came as JSON.

Usage: use_package.py LAKE URL KEY SYMBOLS DOCUMENT
"""

import json
import shutil
import sys
import warnings
from datetime import datetime, timezone
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "python"))
import barlake  # noqa: E402

lake, url, key, symbols, document = sys.argv[1:]
symbols = symbols.split(",")
warnings.simplefilter("error", barlake.UnknownSymbols)


def plain(rows):
    return rows.polars().with_columns(pl.col("symbol").cast(pl.String)).sort("symbol", "timestamp")


def equal(one, other):
    """DuckDB's threads add the amounts of a longer period in any order."""
    amounts = len(one) == len(other) and ((one["amount"] / other["amount"] - 1).abs().fill_nan(0).max() or 0) < 1e-14
    return amounts and one.drop("amount").equals(other.drop("amount"))


def refused(call):
    try:
        call()
    except (barlake.BarlakeError, barlake.UnknownSymbols) as error:
        return type(error).__name__, getattr(error, "code", None), str(error)


ASKED = [
    {},
    {"period": "1w", "start": "2026-01-05", "end": "2026-03-02"},
    {"period": "1M", "adjust": "backward"},
    {"period": "1m", "adjust": "none"},
    {"period": "15m", "count": 20},
    {"start": datetime(2026, 3, 2, tzinfo=timezone.utc), "adjust": "forward_additive"},
    {"start": "2030-01-01"},
]
same = []
for page in (10_000, 7):
    barlake._MOST_BARS = page
    for asked in ASKED:
        own = plain(barlake.klines(lake, symbols, **asked))
        same.append([page, asked.get("period", "1d"), len(own), equal(own, plain(barlake.klines(url, symbols, key=key, **asked)))])
barlake._MOST_BARS = 10_000

names = {}
for block in Path(document).read_text().split("```py\n")[1:]:
    lines = block.split("```")[0].replace("data/demo/lake", lake).replace("http://127.0.0.1:8080", url).replace('"k"', json.dumps(key))
    for documented, own in zip(("600330.SH", "510042.SH"), symbols):
        lines = lines.replace(documented, own)
    exec(compile(lines, document, "exec"), names)

copied = shutil.copytree(lake, f"{lake}-copied")
rows = barlake.dataset(lake, "long").pandas().set_index("trade_date")
matrix = barlake.dataset(lake, "wide", "close").pandas().set_index("trade_date")
print(
    json.dumps(
        {
            "same": same,
            "frames": [len(names[name]) > 0 for name in ("frame", "close", "bars", "statements", "status", "matrix", "highest")],
            "dataset": [len(rows.loc["2026"]), len(barlake.dataset(lake, "long-arrow"))],
            "matrix": [float(matrix.loc["2026"].sum().sum()), float(rows.loc["2026"]["close"].sum())],
            "refused": [
                refused(lambda: barlake.klines(url, [symbols[0], "999999.SH"], key=key, start="2030-01-01")),
                refused(lambda: barlake.klines(lake, [symbols[0], "999999.SH"])),
                refused(lambda: barlake.klines(url, symbols, key="other")),
                refused(lambda: barlake.dataset(lake, "none")),
                refused(lambda: barlake.klines(lake, symbols, start="2026-01-05T09:30")),
                refused(lambda: barlake.query(copied, "FROM bars_1d")),
            ],
        }
    )
)
