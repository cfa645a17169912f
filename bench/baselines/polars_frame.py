"""From a request to a polars frame: with the public client (`sdk`: of its lists, `sdk-frames`: of its frames), or with
an Arrow stream (`arrow`: read by the standard library, `arrow-httpx`: by the package that the public client uses).

Reads one line of JSON from standard input: {"url": ..., "key": ..., "symbols": [...], "count": ..., "times": ...}, and
prints the sum of the volume.
"""

import json
import sys
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import httpx
import pandas  # noqa: F401, loaded before the clock runs
import polars as pl
import pyarrow  # noqa: F401
from tickflow import TickFlow

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
import barlake  # noqa: E402


def by_lists(order):
    with TickFlow(api_key=order["key"], base_url=order["url"], timeout=600) as client:
        data = client.klines.batch(
            order["symbols"], period="1m", count=order["count"], adjust="none", show_progress=False
        )
    return pl.concat(
        [pl.DataFrame(bars).with_columns(symbol=pl.lit(symbol)) for symbol, bars in data.items()]
    )


def by_frames(order):
    with TickFlow(api_key=order["key"], base_url=order["url"], timeout=600) as client:
        frames = client.klines.batch(
            order["symbols"], period="1m", count=order["count"], adjust="none", as_dataframe=True,
            show_progress=False,
        )
    return pl.concat([pl.from_pandas(frame) for frame in frames.values()])


def arrow_request(order):
    params = {"symbols": ",".join(order["symbols"]), "period": "1m", "count": order["count"], "adjust": "none"}
    headers = {"x-api-key": order["key"], "accept": "application/vnd.apache.arrow.stream"}
    return f"{order['url']}/v1/klines/batch?{urlencode(params)}", headers


def by_arrow(order):
    url, headers = arrow_request(order)
    return pl.read_ipc_stream(urlopen(Request(url, headers=headers)).read())


# A client loads the certificates of the system when it is made.
httpx_client = httpx.Client(timeout=600, headers={"accept-encoding": "identity"})


def by_arrow_httpx(order):
    url, headers = arrow_request(order)
    with httpx_client.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        return pl.read_ipc_stream(b"".join(response.iter_raw()))


def by_package(order):
    bars = barlake.klines(
        order["url"], order["symbols"], period="1m", count=order["count"], adjust="none", key=order["key"]
    )
    return bars.polars()


ways = {
    "sdk": by_lists,
    "sdk-frames": by_frames,
    "arrow": by_arrow,
    "arrow-httpx": by_arrow_httpx,
    "package": by_package,
}
way = ways[sys.argv[1]]
print("ready", flush=True)
order = json.loads(sys.stdin.readline())
for _ in range(order["times"]):
    frame = way(order)
print("done", frame["volume"].sum(), flush=True)
