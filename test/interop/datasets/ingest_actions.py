"""Ingests the daily bars of a dataset with zipline's own csvdir bundle, and its splits and dividends with zipline's own
writer; buys 1000 shares of a symbol, holds them, and prints what zipline then has as JSON.

Usage: ingest_actions.py FOLDER SYMBOL
"""

import json
import os
import sys
import tempfile

import pandas as pd
from zipline import run_algorithm
from zipline.api import order, set_commission, set_slippage, symbol
from zipline.data import bundles
from zipline.data.bundles.csvdir import csvdir_equities
from zipline.finance import commission, slippage
from zipline.utils.calendar_utils import get_calendar

folder, name = sys.argv[1:]


class NoAdjustments:
    """Takes what csvdir reads of the column `split`."""

    def write(self, **_):
        pass


def read(table, dates):
    return pd.read_csv(f"{folder}/adjustments/{table}.csv", parse_dates=dates).drop(columns="symbol")


def ingest(environ, assets, minutes, days, adjustments, *rest):
    csvdir_equities(["daily"], folder)(environ, assets, minutes, days, NoAdjustments(), *rest)
    adjustments.write(
        splits=read("splits", ["effective_date"]),
        dividends=read("dividends", ["ex_date", "declared_date", "record_date", "pay_date"]),
    )


def initialize(context):
    set_commission(commission.NoCommission())
    set_slippage(slippage.NoSlippage())
    context.asset, context.has_bought, context.history = symbol(name), False, None


def handle_data(context, data):
    if not context.has_bought:
        order(context.asset, 1000)
        context.has_bought = True
    if data.current_dt.date() == sessions[-1].date():
        context.history = data.history(context.asset, "close", len(sessions), "1d")


sessions = pd.read_csv(f"{folder}/daily/{name}.csv", parse_dates=["date"])["date"]
first, last = sessions.iloc[0], sessions.iloc[-1]
sessions = list(sessions)
bundles.register("actions", ingest, calendar_name="XNYS", start_session=first, end_session=last)
with tempfile.TemporaryDirectory() as root:
    environ = {**os.environ, "ZIPLINE_ROOT": root}
    bundles.ingest("actions", environ=environ, show_progress=False)
    reader = bundles.load("actions", environ=environ).adjustment_reader
    found = reader.unpack_db_to_component_dfs(convert_dates=True)
    kept = {}

    def analyze(context, results):
        kept["history"] = [float(price) for price in context.history]

    results = run_algorithm(
        start=first,
        end=last,
        initialize=initialize,
        handle_data=handle_data,
        analyze=analyze,
        capital_base=1e6,
        benchmark_returns=pd.Series(0.0, index=sessions),
        bundle="actions",
        trading_calendar=get_calendar("XNYS"),
        environ=environ,
    )
    answer = {
        "splits": sorted([int(row.sid), str(row.effective_date.date()), row.ratio] for row in found["splits"].itertuples()),
        "payouts": sorted([int(row.sid), str(row.ex_date.date()), str(row.pay_date.date()), row.amount] for row in found["dividend_payouts"].itertuples()),
        "value": float(results["portfolio_value"].iloc[-1]),
        "history": kept["history"],
    }
json.dump(answer, sys.stdout)
