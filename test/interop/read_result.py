"""Reads an Arrow IPC file and stream by pyarrow and by polars, and prints what each finds, exactly, as one JSON object."""

import json
import struct
import sys
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc

path, stream = sys.argv[1:]


def exact(value):
    """Integers as text, floats as their bits, decimals as their digits without the point."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return struct.pack(">d", value).hex() if value == value else "nan"
    if isinstance(value, Decimal):
        sign, digits, _ = value.as_tuple()
        return str(int("".join(map(str, digits))) * (-1 if sign else 1))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: exact(of) for name, of in value.items()}
    return [exact(item) for item in value]


def counted(column):
    """Dates and times as the count of their unit."""
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32())
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return column.cast(pa.int64())
    return column


def by_pyarrow(table):
    table.validate(full=True)
    return {name: exact(counted(table[name]).to_pylist()) for name in table.column_names}


def by_polars(frame):
    temporal = (pl.Date, pl.Time, pl.Datetime)
    return {
        column.name: exact((column.to_physical() if isinstance(column.dtype, temporal) else column).to_list())
        for column in frame
    }


with ipc.open_file(path) as reader:
    file_table = reader.read_all()
with ipc.open_stream(stream) as reader:
    stream_table = reader.read_all()
print(
    json.dumps(
        {
            "pyarrow": by_pyarrow(file_table),
            "pyarrow's stream": by_pyarrow(stream_table),
            "polars": by_polars(pl.read_ipc(path)),
        }
    )
)
