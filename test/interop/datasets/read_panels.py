"""Reads datasets with pandas and polars, and prints the rows that each finds as JSON: [symbol, label, close, volume, tradable].

Usage: read_panels.py JSON, where JSON is {format: folder}; labels are trade_date, or timestamp where the name ends with "/1m".
"""

import json
import sys
from datetime import date
from pathlib import Path

import pandas as pd
import polars as pl

COLUMNS = ["close", "volume", "tradable"]


def text(label):
    """A date, or an instant in UTC, without microseconds."""
    return label.isoformat() if type(label) is date else pd.Timestamp(label).tz_convert("UTC").strftime("%Y-%m-%d %H:%M")


def number(value):
    return None if pd.isna(value) else float(value)


def wide_pandas(read, ending):
    def rows(folder, label):
        panels = [
            read(folder / kind / f"{name}.{ending}").set_index(label)
            for kind, name in [("fields", "close"), ("fields", "volume"), ("masks", "tradable")]
        ]
        assert all(panel.index.is_monotonic_increasing for panel in panels)
        return [
            [symbol, text(at), *(number(panel.at[at, symbol]) for panel in panels)]
            for symbol in panels[0].columns
            for at in panels[0].index
        ]

    return rows


def wide_polars(read, ending):
    def rows(folder, label):
        panels = [
            read(folder / kind / f"{name}.{ending}")
            for kind, name in [("fields", "close"), ("fields", "volume"), ("masks", "tradable")]
        ]
        found = []
        for symbol in panels[0].columns[1:]:
            columns = [panel[symbol].cast(pl.Float64).fill_nan(None).to_list() for panel in panels]
            found += [[symbol, text(at), *values] for at, *values in zip(panels[0][label].to_list(), *columns)]
        return found

    return rows


def long_pandas(read):
    def rows(folder, label):
        frame = read(folder)[["symbol", label, *COLUMNS]]
        return [[symbol, text(at), *map(number, values)] for symbol, at, *values in frame.itertuples(index=False)]

    return rows


def long_polars(read):
    def rows(folder, label):
        frame = read(folder).select("symbol", label, *(pl.col(name).cast(pl.Float64) for name in COLUMNS))
        return [[symbol, text(at), *values] for symbol, at, *values in frame.iter_rows()]

    return rows


def by_symbol(read, ending):
    return lambda folder: [read(file).assign(symbol=file.name.removesuffix(ending)) for file in sorted(folder.glob(f"*{ending}"))]


def csv_pandas(folder):
    frames = by_symbol(lambda file: pd.read_csv(file, parse_dates=["trade_date"]), ".csv")(folder)
    frame = pd.concat(frames)
    return frame.assign(trade_date=frame["trade_date"].dt.date)


def csv_polars(folder):
    frames = [
        pl.read_csv(file, try_parse_dates=True, infer_schema_length=None).with_columns(symbol=pl.lit(file.name.removesuffix(".csv")))
        for file in sorted(folder.glob("*.csv"))
    ]
    return pl.concat(frame.select("symbol", "trade_date", *(pl.col(name).cast(pl.Float64) for name in COLUMNS)) for frame in frames)


READERS = {
    "wide-parquet": {"pandas": wide_pandas(pd.read_parquet, "parquet"), "polars": wide_polars(pl.read_parquet, "parquet")},
    "wide-arrow": {"pandas": wide_pandas(pd.read_feather, "arrow"), "polars": wide_polars(pl.read_ipc, "arrow")},
    "long-parquet": {
        "pandas": long_pandas(lambda folder: pd.read_parquet(folder / "rows")),
        "polars": long_polars(lambda folder: pl.read_parquet(folder / "rows")),
    },
    "long-arrow": {
        "pandas": long_pandas(lambda folder: pd.read_feather(folder / "rows.arrow")),
        "polars": long_polars(lambda folder: pl.read_ipc(folder / "rows.arrow")),
    },
    "symbol-csv": {"pandas": long_pandas(csv_pandas), "polars": long_polars(csv_polars)},
    "symbol-parquet": {
        "pandas": long_pandas(lambda folder: pd.concat(by_symbol(pd.read_parquet, ".parquet")(folder))),
        "polars": long_polars(lambda folder: pl.read_parquet(folder / "*.parquet")),
    },
}

answer = {}
for name, folder in json.loads(sys.argv[1]).items():
    format, _, period = name.partition("/")
    label = "timestamp" if period else "trade_date"
    answer[name] = {tool: sorted(read(Path(folder), label)) for tool, read in READERS[format].items()}
json.dump(answer, sys.stdout)
