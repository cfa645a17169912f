"""Bars of a barlake lake, or of the service of one, in polars, pandas and pyarrow.

A source is the folder of a lake, or the address of a service (``http://127.0.0.1:8080``). Ranges are half-open: ``end``
is not in the result. A range's ends are trading dates of each exchange (``date``, or a text such as ``"2026-01-05"``),
or instants (an aware ``datetime``, or a text with a time and an offset).
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from socket import SO_RCVBUF, SOL_SOCKET
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import compute

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars

    Time = date | datetime | str

__all__ = ["BarlakeError", "Rows", "UnknownSymbols", "adjusted", "dataset", "klines", "query", "read"]

PERIODS = ("1m", "5m", "10m", "15m", "30m", "60m", "1d", "1w", "1M", "1Q", "1Y")
ADJUSTMENTS = ("none", "forward", "backward", "forward_additive", "backward_additive")


class BarlakeError(Exception):
    """What a lake or a service refused. ``status`` and ``code`` are those of a service's response."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class UnknownSymbols(UserWarning):
    """Symbols that a source does not know: the rows are those of the others."""


class Rows:
    """Rows in columns. Other libraries take them as they are, by Arrow's C stream: ``duckdb.sql("FROM rows")``."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def arrow(self) -> pa.Table:
        """The columns as they are; bars of a service have ``versions`` of the lake's tables in the schema's metadata."""
        return self._table

    def polars(self) -> polars.DataFrame:
        """A frame over the same memory."""
        import polars

        return cast(polars.DataFrame, polars.from_arrow(self._table, rechunk=False))

    def pandas(self) -> pandas.DataFrame:
        """A frame with dates as ``datetime64``: ``.set_index("trade_date").loc["2025"]`` works."""
        return self._table.to_pandas(date_as_object=False)

    def __len__(self) -> int:
        return cast(int, self._table.num_rows)

    def __repr__(self) -> str:
        return f"Rows({len(self):,} x {', '.join(self._table.column_names)})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def query(lake: str | Path, sql: str, values: Mapping[str, object] | None = None) -> Rows:
    """The rows of one statement over the views and macros of a lake (docs/sql.md), ``$name`` being ``values["name"]``."""
    with _database(lake) as database:
        return _rows(database, sql, values or {})


def read(
    source: str | Path,
    table: str,
    *,
    symbols: Sequence[str] | None = None,
    start: Time | None = None,
    end: Time | None = None,
    columns: Sequence[str] | None = None,
    key: str | None = None,
) -> Rows:
    """Rows of a view or table of a lake; or what a service has of ``bars_1d``, ``bars_1m``, ``instruments``,
    ``ex_factors`` or a table of statements for ``symbols``. ``start`` and ``end`` are of views with ``trade_date``, and
    ``timestamp`` for instants. Symbols are those that are stored: ``query`` with ``history`` follows renames."""
    if not _is_service(source):
        return _select(source, ".".join(map(_name, table.split("."))), symbols, start, end, columns)
    if table in ("bars_1d", "bars_1m"):
        rows = klines(source, symbols or [], period=table[-2:], adjust="none", start=start, end=end, key=key).arrow()
    elif table not in _PATHS or start is not None or end is not None or not symbols:
        raise BarlakeError(f"{table}: a service has bars_1d, bars_1m and, of symbols without a range, {', '.join(_PATHS)}")
    else:
        with _service(str(source), key) as service:
            parts = [service.get(_PATHS[table], {"symbols": ",".join(some)}) for some in _chunks(symbols)]
        rows = pa.concat_tables(parts).unify_dictionaries()
    return Rows(rows if columns is None else rows.select(list(columns)))


def adjusted(
    lake: str | Path,
    period: str = "1d",
    adjust: str = "forward",
    *,
    symbols: Sequence[str] | None = None,
    start: Time | None = None,
    end: Time | None = None,
    columns: Sequence[str] | None = None,
    as_of: date | str | None = None,
) -> Rows:
    """Adjusted bars of a lake, with the columns of its macro ``adjusted``. ``as_of``: by the ex-events up to that date."""
    _one_of("period", period, PERIODS)
    _one_of("adjust", adjust, ADJUSTMENTS)
    at = "" if as_of is None else f", as_of := DATE '{date.fromisoformat(str(as_of))}'"
    return _select(lake, f"adjusted('{period}', '{adjust}'{at})", symbols, start, end, columns)


def klines(
    source: str | Path,
    symbols: Sequence[str],
    *,
    period: str = "1d",
    adjust: str = "forward",
    start: Time | None = None,
    end: Time | None = None,
    count: int | None = None,
    key: str | None = None,
) -> Rows:
    """K-lines as a service gives them, of a lake too: ``symbol``, ``timestamp`` (UTC), prices, ``volume`` in the region's
    unit, ``amount``. A symbol's bars are together, and ascend. ``count``: only the newest of each symbol in the range.
    ``key`` defaults to the environment's BARLAKE_API_KEY. Warns of :class:`UnknownSymbols`."""
    _one_of("period", period, PERIODS)
    _one_of("adjust", adjust, ADJUSTMENTS)
    if isinstance(symbols, str):
        raise BarlakeError(f'symbols is a list: ["{symbols}"]')
    if count is not None and count < 0:
        raise BarlakeError(f"count {count} is below 0")
    if not symbols:
        raise BarlakeError("symbols is empty")
    wanted = list(dict.fromkeys(symbols))
    if _is_service(source):
        rows, known = _klines_of_service(str(source), wanted, period, adjust, (start, end), count, key)
    else:
        rows, known = _klines_of_lake(source, wanted, period, adjust, (start, end), count)
    unknown = [symbol for symbol in wanted if symbol not in known]
    if unknown:
        warnings.warn(f"{len(unknown)} unknown: {', '.join(unknown[:5])}", UnknownSymbols, stacklevel=2)
    return Rows(rows)


def dataset(lake: str | Path, name: str, field: str | None = None) -> Rows:
    """A dataset that ``barlake dataset build`` wrote into a lake, by its name, or by its folder's path: its rows (formats
    ``long-parquet``, ``long-arrow``), or the matrix of one field or mask, a column each symbol (``wide-parquet``,
    ``wide-arrow``)."""
    folder = Path(name) if "/" in name else Path(lake) / "datasets" / name
    formats = ("long-parquet", "long-arrow") if field is None else ("wide-parquet", "wide-arrow")
    files = ["rows", "rows.arrow"] if field is None else [f"{kind}/{field}.{e}" for kind in ("fields", "masks") for e in ("parquet", "arrow")]
    places = [folder, *(folder / form for form in formats)]
    found = [place / file for place in places if (place / "manifest.json").exists() for file in files if (place / file).exists()]
    if not found:
        what = "rows" if field is None else field
        raise BarlakeError(f"dataset {name}: there is no {what} in {folder}; npx barlake dataset build makes {formats[0]}")
    if found[0].suffix == ".arrow":
        return Rows(pa.ipc.open_file(pa.memory_map(str(found[0]))).read_all())
    import pyarrow.parquet

    parts = sorted(found[0].rglob("*.parquet")) if field is None else found[:1]
    return Rows(pa.concat_tables([pyarrow.parquet.ParquetFile(part).read() for part in parts]))


def _is_service(source: str | Path) -> bool:
    return str(source).startswith(("http://", "https://"))


def _one_of(name: str, value: str, values: Sequence[str]) -> None:
    if value not in values:
        raise BarlakeError(f"{name} {value!r} is not one of {', '.join(values)}")


# A lake, through the views of lake.duckdb.


@contextmanager
def _database(lake: str | Path) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    if _is_service(lake):
        raise BarlakeError(f"{lake}: this asks a lake; klines and read also ask a service")
    file = Path(lake) / "lake.duckdb"
    if not file.exists():
        raise BarlakeError(f"{file} is not there: a folder of a lake has it after a run, or after npx barlake optimize")
    # Opened again for each question: a run replaces the file, and its views name the newest files of each table.
    with duckdb.connect(str(file), read_only=True) as database:
        made_for = database.execute("SELECT value FROM published.parts WHERE name = 'location'").fetchone()
        if made_for is not None and not _is_same(made_for[0], lake):
            raise BarlakeError(f"{file} was made for {made_for[0]}, whose files it reads: npx barlake status --lake {lake} makes it again")
        database.execute("SET TimeZone = 'UTC'")
        yield database


def _is_same(one: str, other: str | Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _rows(database: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, object]) -> Rows:
    relation = database.sql(sql, params=dict(values)) if values else database.sql(sql)
    if relation is None:
        raise BarlakeError("the statement has no rows: a lake is read only")
    return Rows(relation.to_arrow_table())


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _select(
    lake: str | Path,
    relation: str,
    symbols: Sequence[str] | None,
    start: Time | None,
    end: Time | None,
    columns: Sequence[str] | None,
    more: str = "",
) -> Rows:
    if isinstance(symbols, str):
        raise BarlakeError(f'symbols is a list: ["{symbols}"]')
    values: dict[str, object] = {} if symbols is None else {"symbols": list(symbols)}
    where = [] if symbols is None else ["symbol IN (SELECT unnest($symbols))"]
    for bound, operator in ((start, ">="), (end, "<")):
        if bound is not None:
            at = _time(bound)
            name = f"t{len(values)}"
            column = "timestamp" if isinstance(at, datetime) else "trade_date"
            values[name] = at
            where.append(f"{column} {operator} ${name}")
    names = "*" if columns is None else ", ".join(map(_name, columns))
    condition = f"WHERE {' AND '.join(where)}" if where else ""
    with _database(lake) as database:
        return _rows(database, f"SELECT {names} FROM {relation} {condition} {more}", values)


def _time(value: Time) -> date | datetime:
    """A date is a trading date, and what has a time is an instant."""
    at = value
    if isinstance(at, str):
        at = date.fromisoformat(at) if len(at) == 10 else datetime.fromisoformat(at)
    if isinstance(at, datetime) and at.tzinfo is None:
        raise BarlakeError(f"{value}: a time needs its offset, as in 2026-01-05T09:30+08:00")
    return at


_KLINE_COLUMNS = [
    "symbol", "timestamp", "open", "high", "low", "close", "volume", "amount", "open_interest", "prev_close", "settlement_price",
]  # fmt: skip


def _klines_of_lake(
    lake: str | Path, symbols: list[str], period: str, adjust: str, within: tuple[Time | None, Time | None], count: int | None
) -> tuple[pa.Table, set[str]]:
    newest = "" if count is None else f"QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY timestamp DESC) <= {int(count)}"
    bars = f"adjusted('{period}', '{adjust}')"
    rows = _select(lake, bars, symbols, *within, _KLINE_COLUMNS, f"{newest} ORDER BY symbol, timestamp").arrow()
    at = _KLINE_COLUMNS.index("timestamp")
    rows = rows.set_column(at, "timestamp", rows.column(at).cast(pa.timestamp("ms", "UTC")))
    symbol = rows.column(0).dictionary_encode().combine_chunks()
    rows = rows.set_column(0, "symbol", symbol)
    known = set(rows.column(0).unique().to_pylist())
    others = [one for one in symbols if one not in known]
    if others:
        asked = "SELECT symbol FROM {} WHERE symbol IN (SELECT unnest($symbols))"
        sql = " UNION ".join(asked.format(f"raw.{table}") for table in ("instruments", "bars_1d", "bars_1m"))
        known.update(query(lake, sql, {"symbols": others}).arrow().column(0).to_pylist())
    return rows, known


# A service, by Arrow streams.

_ARROW = "application/vnd.apache.arrow.stream"
_STATEMENTS = ("balance_sheet", "cash_flow", "income", "metrics", "shares")
_PATHS = {
    "instruments": "/v1/instruments",
    "ex_factors": "/v1/klines/ex-factors",
    **{table: f"/v1/financials/{table.replace('_', '-')}" for table in _STATEMENTS},
}
#: Most bars of a symbol in one response of K-lines.
_MOST_BARS = 10_000
#: Symbols of a request: its address has at most 128 KiB.
_MOST_SYMBOLS = 5_000
_ZONES = {"US": "America/New_York"}
#: How often bars in several responses are asked for again because the lake changed between these.
_TRIES = 3


class _Service:
    def __init__(self, url: str, key: str | None) -> None:
        parts = urlsplit(url)
        connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connection(parts.netloc, timeout=600)
        self._connection.connect()
        # A window that holds a batch: the service goes on while this process does something else.
        self._connection.sock.setsockopt(SOL_SOCKET, SO_RCVBUF, 4 << 20)
        self._path = parts.path.rstrip("/")
        # Bars are sent as they are: compressing takes longer than a network of today.
        self._headers = {"accept": _ARROW, "accept-encoding": "identity"}
        if key := key or os.environ.get("BARLAKE_API_KEY"):
            self._headers["x-api-key"] = key

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str, parameters: Mapping[str, object]) -> pa.Table:
        """@raises BarlakeError for a refusal, and for a response that is no Arrow stream."""
        self._connection.request("GET", f"{self._path}{path}?{urlencode(parameters, safe=',')}", headers=self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise _refusal(response.status, body)
        if response.headers.get_content_type() != _ARROW:
            raise BarlakeError(f"{path}: the service has no Arrow streams; barlake serve has them", response.status)
        return pa.ipc.open_stream(body).read_all()


@contextmanager
def _service(url: str, key: str | None) -> Iterator[_Service]:
    service = _Service(url, key)
    try:
        yield service
    finally:
        service.close()


def _refusal(status: int, body: bytes) -> BarlakeError:
    try:
        error: dict[str, Any] = json.loads(body)
        return BarlakeError(f"{error['message']} ({status} {error['code']})", status, error["code"])
    except (ValueError, KeyError, TypeError):
        return BarlakeError(f"the service answered {status}", status)


def _chunks(symbols: Sequence[str]) -> list[Sequence[str]]:
    return [symbols[at : at + _MOST_SYMBOLS] for at in range(0, len(symbols), _MOST_SYMBOLS)]


def _klines_of_service(
    url: str, symbols: list[str], period: str, adjust: str, within: tuple[Time | None, Time | None], count: int | None, key: str | None
) -> tuple[pa.Table, set[str]]:
    with _service(url, key) as service:
        for _ in range(_TRIES):
            parts: list[pa.Table] = []
            known: set[str] = set()
            is_paged = False
            for some, bounds in _requests(symbols, within):
                pages, found = _pages(service, some, {"period": period, "adjust": adjust, **bounds}, count)
                is_paged = is_paged or len(pages) > 1
                parts += pages
                known |= found
            if len({(part.schema.metadata or {}).get(b"versions") for part in parts}) <= 1:
                break
        else:
            raise BarlakeError(f"the lake changed between the responses of each of {_TRIES} tries")
    if len(parts) == 1:
        return parts[0], known
    rows = pa.concat_tables(parts).unify_dictionaries()
    if is_paged:
        plain = rows.set_column(0, "symbol", rows.column(0).cast(pa.string())).sort_by([("symbol", "ascending"), ("timestamp", "ascending")])
        rows = plain.set_column(0, "symbol", plain.column(0).dictionary_encode())
    return rows, known


def _requests(symbols: list[str], within: tuple[Time | None, Time | None]) -> Iterator[tuple[Sequence[str], dict[str, int]]]:
    """Symbols of one zone, with its instants of the range: a service takes inclusive epoch milliseconds."""
    bounds = [None if bound is None else _time(bound) for bound in within]
    zones: dict[str, list[str]] = {}
    are_dates = any(bound is not None and not isinstance(bound, datetime) for bound in bounds)
    for symbol in symbols:
        zone = _ZONES.get(symbol.rpartition(".")[2], "Asia/Shanghai") if are_dates else "UTC"
        zones.setdefault(zone, []).append(symbol)
    for zone, own in zones.items():
        start, end = bounds
        parameters: dict[str, int] = {} if start is None else {"start_time": _milliseconds(start, zone)}
        if end is not None:
            parameters["end_time"] = _milliseconds(end, zone) - 1
        for some in _chunks(own):
            yield some, parameters


def _milliseconds(at: date | datetime, zone: str) -> int:
    instant = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day, tzinfo=ZoneInfo(zone))
    return round(instant.timestamp() * 1000)


def _pages(
    service: _Service, symbols: Sequence[str], parameters: Mapping[str, object], count: int | None
) -> tuple[list[pa.Table], set[str]]:
    """The newest bars of symbols, and then the bars before those of symbols whose response was full."""
    most = sys.maxsize if count is None else count
    size = min(most, _MOST_BARS)
    path = "/v1/klines/batch"
    first = service.get(path, {"symbols": ",".join(symbols), **parameters, "count": size})
    pages = [first]
    column = first.column("symbol")
    known = _known(first)
    if known is None:
        known = _known(service.get(path, {"symbols": ",".join(symbols), "period": parameters["period"], "count": 1}))
    if known is None:
        known = set(service.get(_PATHS["instruments"], {"symbols": ",".join(symbols)}).column("symbol").to_pylist())
    if most > size and first.num_rows >= size:
        for symbol, rows in ((one["values"], one["counts"]) for one in column.unify_dictionaries().value_counts().to_pylist()):
            page = first.filter(compute.equal(column.cast(pa.string()), symbol)) if rows == size else first.slice(0, 0)
            have, asked = rows, size
            while page.num_rows == asked and have < most:
                asked = min(most - have, _MOST_BARS)
                before = page.column("timestamp")[0].value - 1
                page = service.get(path, {"symbols": symbol, **parameters, "count": asked, "end_time": before})
                pages.append(page)
                have += page.num_rows
    return pages, known


def _known(bars: pa.Table) -> set[str] | None:
    """The dictionary's symbols: the known ones, also those without bars. None: pyarrow shows it only next to rows."""
    column = bars.column("symbol")
    return set(column.chunk(0).dictionary.to_pylist()) if column.num_chunks > 0 else None
