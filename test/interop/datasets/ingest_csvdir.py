"""Ingests a dataset with zipline's own csvdir bundle, and prints what zipline then has as JSON.

Usage: ingest_csvdir.py FOLDER SESSIONS, where SESSIONS is a JSON list of the market's dates, ascending.
"""

import json
import sys
import tempfile
from datetime import time
from zoneinfo import ZoneInfo

import exchange_calendars
import pandas as pd
from exchange_calendars import ExchangeCalendar
from zipline.data import bundles
from zipline.data.bundles.csvdir import csvdir_equities

folder, sessions = sys.argv[1], pd.DatetimeIndex(json.loads(sys.argv[2]))
first, last = sessions[0], sessions[-1]


class MarketCalendar(ExchangeCalendar):
    """The sessions of a market that is simulated."""

    name = "MARKET"
    tz = ZoneInfo("Asia/Shanghai")
    open_times = ((None, time(9, 30)),)
    close_times = ((None, time(15)),)
    adhoc_holidays = list(pd.bdate_range(first, last).difference(sessions))


exchange_calendars.register_calendar_type("MARKET", MarketCalendar)
bundles.register("dataset", csvdir_equities(["daily"], folder), calendar_name="MARKET", start_session=first, end_session=last)
with tempfile.TemporaryDirectory() as root:
    environ = {"ZIPLINE_ROOT": root}
    bundles.ingest("dataset", environ=environ, show_progress=False)
    bundle = bundles.load("dataset", environ=environ)
    assets = bundle.asset_finder.retrieve_all(bundle.asset_finder.sids)
    reader = bundle.equity_daily_bar_reader
    columns = reader.load_raw_arrays(["open", "high", "low", "close", "volume"], first, last, [asset.sid for asset in assets])
    splits = bundle.adjustment_reader.unpack_db_to_component_dfs(convert_dates=True)["splits"]
    symbols = {asset.sid: asset.symbol for asset in assets}
    answer = {
        "sessions": [str(day.date()) for day in reader.sessions],
        "prices": {
            asset.symbol: [[None if pd.isna(value) else float(value) for value in (column[day, i] for column in columns)] for day in range(len(sessions))]
            for i, asset in enumerate(assets)
        },
        "spans": {asset.symbol: [str(asset.start_date.date()), str(asset.end_date.date())] for asset in assets},
        "splits": sorted(
            [symbols[sid], str(pd.Timestamp(date).date()), float(ratio)]
            for sid, date, ratio in zip(splits["sid"], splits["effective_date"], splits["ratio"])
        ),
    }
json.dump(answer, sys.stdout)
