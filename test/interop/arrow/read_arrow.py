"""Reads the Arrow IPC files of a folder, prints what they hold as one JSON object, and writes each in other layouts."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc

source, target = (Path(folder) for folder in sys.argv[1:])


def plain(value):
    """int64 as text, which JSON can hold; instants as milliseconds."""
    return str(value) if isinstance(value, int) else value


def values_of(column):
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    return [plain(value) for value in column.to_pylist()]


def replaced(table, name, column):
    field = table.schema.field(name).with_type(column.type)
    return table.set_column(table.column_names.index(name), field, column)


def with_symbol(table, kind):
    text = table["symbol"].cast(pa.string())
    if not pa.types.is_dictionary(kind):
        return replaced(table, "symbol", text.cast(kind))
    return replaced(table, "symbol", text.combine_chunks().dictionary_encode().cast(kind))


def with_unit(table, unit):
    return replaced(table, "timestamp", table["timestamp"].cast(pa.timestamp(unit, "UTC")))


def write(folder, name, table, open_writer=ipc.new_file, max_chunksize=None, **options):
    with open_writer(str(folder / f"{name}.arrow"), table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=max_chunksize)


def write_chunk_dictionaries(folder, name, table, size, **options):
    """A stream in which each batch has a dictionary of its own, or one that grows from batch to batch."""
    chunks = [table.slice(start, size) for start in range(0, table.num_rows, size)]
    seen = []
    with ipc.new_stream(str(folder / f"{name}.arrow"), table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for chunk in chunks:
            text = chunk["symbol"].cast(pa.string()).to_pylist()
            new = list(dict.fromkeys(text))
            seen = [*seen, *(word for word in new if word not in seen)] if options else new[::-1]
            indices = pa.array([seen.index(word) for word in text], pa.int32())
            symbol = pa.DictionaryArray.from_arrays(indices, pa.array(seen, pa.string()))
            writer.write_table(replaced(chunk, "symbol", symbol))


def write_layouts(folder, table):
    write(folder, "same", table)
    write(folder, "batches", table, max_chunksize=7)
    write(folder, "stream", table, ipc.new_stream, max_chunksize=7)
    write(folder, "reversed", table.select(table.column_names[::-1]))
    write(folder, "sliced", pa.concat_tables([table.slice(0, 3), table.slice(3, 10), table.slice(13)]))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        write(folder, str(kind), with_symbol(table, kind), max_chunksize=5)
    for index in (pa.int8(), pa.int16(), pa.uint32()):
        kind = pa.dictionary(index, pa.string())
        write(folder, str(index), with_symbol(table, kind), max_chunksize=5)
    for unit in ("us", "ns"):
        write(folder, unit, with_unit(table, unit), max_chunksize=5)
    if all(instant % 1000 == 0 for instant in table["timestamp"].cast(pa.int64()).to_pylist()):
        write(folder, "s", with_unit(table, "s"))
    write_chunk_dictionaries(folder, "replacements", table, 4)
    write_chunk_dictionaries(folder, "deltas", table, 4, emit_dictionary_deltas=True)
    write(folder, "compressed", with_symbol(table, pa.string()), compression="lz4")
    write(folder, "zoneless", replaced(table, "timestamp", table["timestamp"].cast(pa.timestamp("us"))))


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
    folder = target / path.stem
    folder.mkdir()
    write_layouts(folder, table)
print(json.dumps(found))
