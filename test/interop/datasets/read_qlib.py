"""Reads two datasets, of days and of minutes, by qlib's own interface, and prints what it gives as JSON.

Usage: read_qlib.py DAYS MINUTES QUERY, where QUERY is JSON: universe, dates, fields, minuteFields, items, periods.
"""

import json
import logging
import math
import sys

import qlib
from qlib.data import D

days, minutes, query = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])


def open_folder(folder):
    qlib.init(provider_uri=folder, region="cn", kernels=1, joblib_backend="threading", logging_level=logging.ERROR)


def rows(frame):
    """A frame as {instrument: [[time, values...]...]}, NaN as null."""
    found = {}
    for (instrument, time), values in zip(frame.index, frame.to_numpy().tolist()):
        row = [str(time), *(None if math.isnan(value) else value for value in values)]
        found.setdefault(instrument, []).append(row)
    return found


open_folder(days)
universe = D.instruments(query["universe"])
everything = D.list_instruments(D.instruments("all"), as_list=True)
newest = [f"P($${item}_q)" for item in query["items"]]
by_period = [f"PRef($${item}_q, {period})" for item in query["items"] for period in query["periods"]]
answer = {
    "calendar": [str(day.date()) for day in D.calendar(freq="day")],
    "features": rows(D.features(everything, query["fields"], freq="day")),
    "members": {
        date: sorted(D.list_instruments(universe, start_time=date, end_time=date, as_list=True)) for date in query["dates"]
    },
    "memberRows": {name: len(found) for name, found in rows(D.features(universe, ["$close"], freq="day")).items()},
    "statements": {
        date: {
            name: found[0][1:]
            for name, found in rows(D.features(everything, newest + by_period, start_time=date, end_time=date, freq="day")).items()
        }
        for date in query["dates"]
    },
    "withoutStatements": rows(D.features(query["withoutStatements"], [f"{newest[0]} / $close", "$close"], freq="day")),
}

open_folder(minutes)
answer["minutes"] = {
    "calendar": [str(minute) for minute in D.calendar(freq="1min")],
    "features": rows(D.features(D.instruments("all"), query["minuteFields"], freq="1min")),
}
json.dump(answer, sys.stdout)
