"""Reads the Arrow IPC files of a folder, and prints what they hold as one JSON object."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc

source = Path(sys.argv[1])


def plain(value):
    """int64 as text, which JSON can hold; instants as milliseconds."""
    return str(value) if isinstance(value, int) else value


def values_of(column):
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    return [plain(value) for value in column.to_pylist()]


found = {}
for path in sorted(source.glob("*.arrow")):
    with ipc.open_file(str(path)) as reader:
        table = reader.read_all()
        table.validate(full=True)
        found[path.stem] = {
            "batches": reader.num_record_batches,
            "types": {field.name: f"{field.type}{'?' if field.nullable else ''}" for field in table.schema},
            "values": {name: values_of(table[name]) for name in table.column_names},
        }
print(json.dumps(found))
