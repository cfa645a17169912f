"""Runs a moving-average cross over a dataset in vectorbt, or in backtrader, and prints what came of it as JSON.

Usage: backtest_crosses.py vectorbt|backtrader FOLDER JSON, where JSON is {fast, slow, cash, fees, size}.
"""

import json
import sys
from pathlib import Path

import pandas as pd


def in_vectorbt(folder, rule):
    """All the cash goes in at the close of a cross above, and out at that of a cross below."""
    import vectorbt as vbt

    closes = pd.read_parquet(folder / "fields" / "close.parquet").set_index("trade_date")
    fast, slow = (vbt.MA.run(closes, rule[name], short_name=name) for name in ("fast", "slow"))
    portfolio = vbt.Portfolio.from_signals(
        closes,
        fast.ma_crossed_above(slow).to_numpy(),
        fast.ma_crossed_below(slow).to_numpy(),
        init_cash=rule["cash"],
        fees=rule["fees"],
    )
    orders, values = portfolio.orders.count().to_numpy(), portfolio.final_value().to_numpy()
    return {symbol: [int(orders[i]), float(values[i])] for i, symbol in enumerate(closes.columns)}


def in_backtrader(folder, rule):
    """A number of shares is bought at the open after a cross above, and sold at that after a cross below."""
    import backtrader as bt

    class Cross(bt.Strategy):
        def __init__(self):
            self.orders = 0
            fast, slow = (bt.indicators.SimpleMovingAverage(self.data.close, period=rule[name]) for name in ("fast", "slow"))
            self.cross = bt.indicators.CrossOver(fast, slow)

        def next(self):
            if self.cross > 0 and not self.position:
                self.buy(size=rule["size"])
            elif self.cross < 0 and self.position:
                self.close()

        def notify_order(self, order):
            self.orders += order.status == order.Completed

    found = {}
    for file in sorted(folder.glob("*.csv")):
        cerebro = bt.Cerebro(stdstats=False)
        cerebro.adddata(bt.feeds.GenericCSVData(dataname=str(file), dtformat="%Y-%m-%d"))
        cerebro.addstrategy(Cross)
        cerebro.broker.setcash(rule["cash"])
        cerebro.broker.setcommission(commission=rule["fees"])
        (strategy,) = cerebro.run()
        found[file.stem] = [strategy.orders, cerebro.broker.getvalue()]
    return found


run = {"vectorbt": in_vectorbt, "backtrader": in_backtrader}[sys.argv[1]]
json.dump(run(Path(sys.argv[2]), json.loads(sys.argv[3])), sys.stdout)
