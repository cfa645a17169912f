"""Reads the CSV files of a dataset by backtrader's own feed, with its line `adjclose`, and prints what it has as JSON.

Usage: read_backtrader.py FOLDER
"""

import json
import math
import sys
from pathlib import Path

import backtrader as bt


class AdjustedCSV(bt.feeds.GenericCSVData):
    lines = ("adjclose",)
    params = (("dtformat", "%Y-%m-%d"), ("adjclose", 7))


class Closes(bt.Strategy):
    def __init__(self):
        self.rows = []

    def next(self):
        closes = (self.data.close[0], self.data.adjclose[0])
        self.rows.append([str(self.data.datetime.date()), *(None if math.isnan(close) else close for close in closes)])


found = {}
for file in sorted(Path(sys.argv[1]).glob("*.csv")):
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.adddata(AdjustedCSV(dataname=str(file)))
    cerebro.addstrategy(Closes)
    (strategy,) = cerebro.run()
    found[file.stem] = strategy.rows
json.dump(found, sys.stdout)
