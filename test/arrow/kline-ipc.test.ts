import {
  type Data,
  Dictionary,
  Field,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  LargeUtf8,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Timestamp,
  TimestampMillisecond,
  TimeUnit,
  tableFromIPC,
  tableToIPC,
  Uint8,
  Uint32,
  Utf8,
  type Vector,
  vectorFromArray,
} from "apache-arrow";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { klineBatch, klinesFromIpc, klinesToIpc, klinesToIpcPieces } from "../../src/arrow/kline-ipc.js";
import { DOUBLE_COLUMNS, type KlineColumns } from "../../src/wire/kline-columns.js";
import { anyBars, barsOf, columnsOf, type PlainBars } from "../wire/any-kline-columns.js";

/** The columns of a batch by name, in the layout that {@link klineBatch} gives them. */
function arrowColumns(columns: KlineColumns): Record<string, Data> {
  const batch = klineBatch(columns);
  return Object.fromEntries(batch.schema.fields.map(({ name }, i) => [name, batch.data.children[i] as Data]));
}

/** A batch cut before each of the given rows, in their order. */
function cut(batch: RecordBatch, rows: readonly number[]): RecordBatch[] {
  const ends = [...new Set([...rows, batch.numRows])].sort((a, b) => a - b);
  return ends.map((end, i) => batch.slice(i === 0 ? 0 : ends[i - 1], end));
}

function ipcOf(
  batches: RecordBatch | readonly RecordBatch[],
  format: "file" | "stream" = "file",
): Uint8Array {
  return tableToIPC(new Table([batches].flat()), format);
}

const symbolsOf = ({ symbols, symbolIndex }: KlineColumns): string[] =>
  Array.from(symbolIndex, (index) => symbols[index] as string);

/** A dictionary column of the given words. */
function dictionaryOf(
  texts: readonly (string | null)[],
  words: readonly (string | null)[],
  indices: Int8 | Int16 | Int32 | Uint8 | Uint32 = new Int32(),
): Data {
  return makeData({
    type: new Dictionary(new Utf8(), indices as Int32, 0),
    length: texts.length,
    nullCount: 0,
    data: (indices.ArrayType as Int32ArrayConstructor).from(texts, (text) => words.indexOf(text)),
    dictionary: vectorFromArray(words as string[], new Utf8()),
  });
}

const isPresent = (validity: Uint8Array, row: number): boolean =>
  ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0;

const withBars = (bars: PlainBars): PlainBars =>
  Object.fromEntries(Object.entries(bars).filter(([, list]) => list.length > 0));

const anyFormat = fc.constantFrom("file" as const, "stream" as const);
const anyCuts = fc.array(fc.nat(60), { maxLength: 4 });

describe("bars of our own file", () => {
  test("come back equal, down to nulls and symbols without bars", () => {
    fc.assert(
      fc.property(anyBars, (bars) => {
        const columns = columnsOf(bars);
        expect(klinesFromIpc(klinesToIpc(columns))).toEqual(columns);
      }),
    );
  });

  test("come back equal from pieces, which leave out columns without a value", async () => {
    await fc.assert(
      fc.asyncProperty(anyBars, async (bars) => {
        const columns = columnsOf(bars);
        const pieces: Uint8Array[] = [];
        for await (const piece of klinesToIpcPieces(columns)) pieces.push(piece);
        const bytes = Buffer.concat(pieces);
        expect(klinesFromIpc(bytes)).toEqual(columns);
        const written = tableFromIPC(bytes).schema.names;
        for (const [name, { values, validity }] of Object.entries(columns.doubles)) {
          const hasValue =
            columns.rows === 0 || validity === undefined || values.some((_, row) => isPresent(validity, row));
          expect([name, written.includes(name)]).toEqual([name, hasValue]);
        }
      }),
    );
  });

  test("come back equal from any number of batches, of a file or a stream", () => {
    fc.assert(
      fc.property(anyBars, anyCuts, anyFormat, (bars, rows, format) => {
        const columns = columnsOf(bars);
        const batches = cut(
          klineBatch(columns),
          rows.filter((row) => row > 0 && row < columns.rows),
        );
        expect(klinesFromIpc(ipcOf(batches, format))).toEqual(columns);
      }),
    );
  });

  test("are not copied", () => {
    const bytes = klinesToIpc(columnsOf({ "A.US": [{ timestamp: 1, volume: 2n }], "B.US": [] }));
    const { symbolIndex, timestamp, volume, doubles } = klinesFromIpc(bytes);
    for (const array of [symbolIndex, timestamp, volume, ...Object.values(doubles).map((d) => d.values)]) {
      expect(array.buffer).toBe(bytes.buffer);
    }
  });

  test("are read from bytes that lie at an odd address", () => {
    const columns = columnsOf({ "A.US": [{ timestamp: 1, volume: 2n, close: 3.5 }] });
    const bytes = klinesToIpc(columns);
    const shifted = new Uint8Array(bytes.length + 1).subarray(1);
    shifted.set(bytes);
    expect(klinesFromIpc(shifted)).toEqual(columns);
  });
});

describe("bars whose columns lie in the same memory", () => {
  const columns = columnsOf({
    "A.US": [1, 2, 3].map((timestamp) => ({ timestamp, volume: 1n, open: timestamp / 3 })),
  });
  const { open } = columns.doubles;
  const all = Float64Array.of(1, 2, 3, 4, 5);
  const at = (start: number): { values: Float64Array; validity: undefined } => ({
    values: all.subarray(start, start + 3),
    validity: undefined,
  });

  test.each([
    ["wholly", { high: open, low: open, close: open }],
    ["in part", { open: at(0), high: at(1), low: at(2), close: at(1) }],
  ] as const)("%s come back equal", async (_, shared) => {
    const overlapping = { ...columns, doubles: { ...columns.doubles, ...shared } };
    expect(klinesFromIpc(klinesToIpc(overlapping))).toEqual(overlapping);
    const pieces: Uint8Array[] = [];
    for await (const piece of klinesToIpcPieces(overlapping)) pieces.push(piece);
    expect(klinesFromIpc(Buffer.concat(pieces))).toEqual(overlapping);
  });

  test("of a file come back equal", () => {
    const once = klinesFromIpc(klinesToIpc(columns));
    expect(klinesFromIpc(klinesToIpc(once))).toEqual(columns);
  });
});

describe("bars in the layout of other writers", () => {
  /** Rows of whole seconds, so that every unit can hold them. */
  const anySeconds = anyBars.map(
    (bars): PlainBars =>
      Object.fromEntries(
        Object.entries(bars).map(([symbol, list]) => [
          symbol,
          list.map((bar, i) => ({ ...bar, timestamp: (Math.trunc(bar.timestamp / 1000) + i) * 1000 })),
        ]),
      ),
  );
  const anyUnit = fc.constantFrom(
    [TimeUnit.SECOND, 1n, 1000n] as const,
    [TimeUnit.MILLISECOND, 1n, 1n] as const,
    [TimeUnit.MICROSECOND, 1000n, 1n] as const,
    [TimeUnit.NANOSECOND, 1_000_000n, 1n] as const,
  );
  const anySymbolColumn = fc.constantFrom<(texts: string[]) => Data>(
    ...[new Int8(), new Int16(), new Int32(), new Uint8(), new Uint32()].map(
      (indices) => (texts: string[]) =>
        dictionaryOf(texts, [null, "UNUSED.US", ...new Set(texts.toReversed())], indices),
    ),
    (texts) => vectorFromArray(texts, new Utf8()).data[0] as Data,
    (texts) => vectorFromArray(texts, new LargeUtf8()).data[0] as Data,
  );

  test("are the same in any unit, zone, kind of symbol column, order and number of columns and batches", () => {
    fc.assert(
      fc.property(
        anySeconds,
        anyUnit,
        fc.constantFrom("UTC", "Asia/Shanghai", "+05:30"),
        anySymbolColumn,
        fc.shuffledSubarray(["symbol", "timestamp", "volume", "extra", ...DOUBLE_COLUMNS], { minLength: 12 }),
        anyCuts,
        anyFormat,
        (bars, [unit, times, per], zone, symbolColumn, order, rows, format) => {
          const columns = columnsOf(withBars(bars));
          const parts: Record<string, Data> = {
            ...arrowColumns(columns),
            symbol: symbolColumn(symbolsOf(columns)),
            timestamp: makeData({
              type: new Timestamp(unit, zone),
              data: columns.timestamp.map((ms) => (ms * times) / per),
            }),
            extra: makeData({ type: new Int64(), data: columns.volume.slice() }),
          };
          const batch = new RecordBatch(Object.fromEntries(order.map((name) => [name, parts[name] as Data])));
          const inside = rows.filter((row) => row > 0 && row < columns.rows);
          const found = klinesFromIpc(ipcOf(cut(batch, inside), format));
          expect(withBars(barsOf(found))).toEqual(barsOf(columns));
          expect(found.symbolIndex).toEqual(found.symbolIndex.toSorted());
        },
      ),
    );
  });

  test("are the same where every batch of a stream replaces the dictionary", () => {
    fc.assert(
      fc.property(anyBars, anyCuts, (bars, rows) => {
        const columns = columnsOf(withBars(bars));
        const inside = rows.filter((row) => row > 0 && row < columns.rows);
        const texts = symbolsOf(columns);
        let start = 0;
        const batches = cut(klineBatch(columns), inside).map((batch) => {
          const own = texts.slice(start, (start += batch.numRows));
          const [, ...others] = batch.data.children;
          const children = [dictionaryOf(own, [...new Set(own.toReversed())]), ...others];
          const { fields } = batch.schema;
          return new RecordBatch(
            new Schema(fields),
            makeData({ type: new Struct(fields), length: batch.numRows, nullCount: 0, children }),
          );
        });
        const found = klinesFromIpc(ipcOf(batches, "stream"));
        expect(found).toEqual(columns);
      }),
    );
  });

  test.each(["file", "stream"] as const)("are the same where a %s has a delta dictionary", (format) => {
    const bar = { timestamp: 1, volume: 2n };
    const columns = columnsOf({ "A.US": [bar], "B.US": [bar], "C.US": [bar], "D.US": [bar] });
    const first = vectorFromArray(["A.US", "B.US"], new Utf8());
    const second: Vector<Utf8> = first.concat(vectorFromArray(["C.US", "D.US"], new Utf8()));
    const batches = cut(klineBatch(columns), [2]).map((batch, i) => {
      const symbol = batch.data.children[0] as Data;
      symbol.dictionary = i === 0 ? first : second;
      return batch;
    });
    expect(klinesFromIpc(ipcOf(batches, format))).toEqual(columns);
  });

  test("have their symbols in the order of the rows, and those without rows after them", () => {
    const bar = { timestamp: 1, volume: 2n };
    const columns = columnsOf({ "A.US": [bar], "B.US": [bar], "C.US": [bar] });
    const symbol = dictionaryOf(["A.US", "B.US", "C.US"], ["C.US", "D.US", "A.US", "B.US"]);
    const found = klinesFromIpc(ipcOf(new RecordBatch({ ...arrowColumns(columns), symbol })));
    expect(found.symbols).toEqual(["A.US", "B.US", "C.US", "D.US"]);
    expect(found.symbolIndex).toEqual(Int32Array.of(0, 1, 2));
  });

  test("are distinguished where a symbol begins or ends as the one before", () => {
    const texts = ["A.US", "A.US", "A.USX", "A.USXY", "A.USX2", "USX2", "A.U"];
    const columns = columnsOf({ "A.US": texts.map((_, timestamp) => ({ timestamp, volume: 2n })) });
    const symbol = vectorFromArray(texts, new Utf8()).data[0] as Data;
    const found = klinesFromIpc(ipcOf(new RecordBatch({ ...arrowColumns(columns), symbol })));
    expect(symbolsOf(found)).toEqual(texts);
  });

  test("are null in an absent column that may be null", () => {
    const columns = columnsOf({ "A.US": [{ timestamp: 1, volume: 2n, prev_close: 3 }] });
    const { prev_close: _, ...rest } = arrowColumns(columns);
    const found = klinesFromIpc(ipcOf(new RecordBatch(rest)));
    expect(barsOf(found)["A.US"]?.[0]).toMatchObject({ prev_close: undefined, volume: 2n });
  });
});

describe("what is refused, by its column and row", () => {
  const bars = [1, 2, 3].map((timestamp) => ({ timestamp, volume: 1n }));
  const columns = columnsOf({ "A.US": bars, "B.US": bars });
  const ours = arrowColumns(columns);
  const doubles = (values: readonly (number | null)[]): Data =>
    vectorFromArray(values, new Float64()).data[0] as Data;
  const times = (values: readonly bigint[], unit = TimeUnit.MILLISECOND): Data =>
    makeData({ type: new Timestamp(unit, "UTC"), data: BigInt64Array.from(values) });

  const cases: Readonly<Record<string, readonly [Record<string, Data | undefined>, string]>> = {
    "a missing column": [{ close: undefined }, "column close: is missing"],
    "a missing symbol": [{ symbol: undefined }, "column symbol: is missing"],
    "a volume of another type": [
      { volume: makeData({ type: new Int32(), data: new Int32Array(6) }) },
      "column volume: is Int32; expected Int64",
    ],
    "a price of another type": [
      { open: makeData({ type: new Float32(), data: new Float32Array(6) }) },
      "column open: is Float32; expected Float64",
    ],
    "a nullable column of another type": [
      { prev_close: makeData({ type: new Int64(), data: new BigInt64Array(6) }) },
      "column prev_close: is Int64; expected Float64",
    ],
    "a timestamp that is none": [
      { timestamp: makeData({ type: new Int64(), data: columns.timestamp }) },
      "column timestamp: is Int64; expected Timestamp with a zone",
    ],
    "a timestamp without a zone": [
      { timestamp: makeData({ type: new TimestampMillisecond(), data: columns.timestamp }) },
      "column timestamp: is Timestamp<MILLISECOND>; expected Timestamp with a zone",
    ],
    "a symbol that is no text": [
      { symbol: makeData({ type: new Int32(), data: columns.symbolIndex }) },
      "column symbol: is Int32; expected text",
    ],
    "a dictionary with wide indices": [
      {
        symbol: makeData({
          type: new Dictionary(new Utf8(), new Int64() as unknown as Int32, 0),
          data: BigInt64Array.from(columns.symbolIndex, BigInt) as unknown as Int32Array,
          dictionary: vectorFromArray([...columns.symbols], new Utf8()),
        }),
      },
      "column symbol: is Dictionary<Int64, Utf8>; expected text",
    ],
    "a null price": [{ close: doubles([1, 2, 3, 4, null, 6]) }, "column close, row 4: is null"],
    "a null symbol": [
      { symbol: vectorFromArray(["A.US", "A.US", null, "B.US", "B.US", "B.US"], new Utf8()).data[0] },
      "column symbol, row 2: is null",
    ],
    "a null in the dictionary": [
      { symbol: dictionaryOf(["A.US", "A.US", "A.US", null, null, null], ["A.US", null]) },
      "column symbol, row 3: has no dictionary entry",
    ],
    "an index outside of the dictionary": [
      { symbol: dictionaryOf(symbolsOf(columns), ["B.US"]) },
      "column symbol, row 0: has no dictionary entry",
    ],
    "a symbol that comes back": [
      { symbol: dictionaryOf(["A.US", "A.US", "B.US", "B.US", "A.US", "A.US"], ["A.US", "B.US"]) },
      "column symbol, row 4: A.US is back after another symbol",
    ],
    "a timestamp that goes back": [
      { timestamp: times([1n, 2n, 3n, 1n, 3n, 2n]) },
      "column timestamp, row 5: 2 is not after 3",
    ],
    "a timestamp that repeats": [
      { timestamp: times([1n, 1n, 3n, 1n, 2n, 3n]) },
      "column timestamp, row 1: 1 is not after 1",
    ],
    "a fraction of a millisecond": [
      { timestamp: times([1000n, 2000n, 2001n, 1000n, 2000n, 3000n], TimeUnit.MICROSECOND) },
      "column timestamp, row 2: 2001 microseconds are no int64 of milliseconds",
    ],
    "a fraction of a millisecond before 1970": [
      { timestamp: times([-1_000_001n, 1n, 2n, 1n, 2n, 3n], TimeUnit.NANOSECOND) },
      "column timestamp, row 0: -1000001 nanoseconds are no int64 of milliseconds",
    ],
    "seconds beyond the range of milliseconds": [
      { timestamp: times([1n, 2n, 9_223_372_036_854_776n, 1n, 2n, 3n], TimeUnit.SECOND) },
      "column timestamp, row 2: 9223372036854776 seconds are no int64 of milliseconds",
    ],
    "a buffer that is too short": [
      { high: makeData({ type: new Float64(), length: 6, nullCount: 0, data: new Float64Array(5) }) },
      "column high, row 5: its buffer ends before it",
    ],
  };

  test.each(Object.entries(cases))("%s", (_, [changed, message]) => {
    const parts = Object.entries({ ...ours, ...changed }).filter((entry): entry is [string, Data] =>
      Boolean(entry[1]),
    );
    const batch = new RecordBatch(Object.fromEntries(parts));
    for (const batches of [batch, cut(batch, [1, 3, 5])]) {
      const read = (): unknown => klinesFromIpc(ipcOf(batches));
      expect(read).toThrow(TypeError);
      expect(read).toThrow(message);
    }
  });

  test("a column that is there twice", () => {
    const batch = klineBatch(columns);
    const fields = [...batch.schema.fields, new Field("close", new Float64(), false)];
    const children = [...batch.data.children, ours.close as Data];
    const twice = new RecordBatch(
      new Schema(fields),
      makeData({ type: new Struct(fields), length: 6, children }),
    );
    expect(() => klinesFromIpc(ipcOf(twice))).toThrow("column close: is there twice");
  });

  test("a file that ends early, wherever it does", () => {
    const bytes = klinesToIpc(columns);
    for (let end = 0; end < bytes.length; end++) {
      expect(() => klinesFromIpc(bytes.slice(0, end)), `${end} bytes`).toThrow(TypeError);
    }
  });

  test("bytes that are no Arrow", () => {
    expect(() => klinesFromIpc(new TextEncoder().encode("symbol,timestamp\nA.US,1"))).toThrow(
      "bytes cannot be read as Arrow IPC: ",
    );
  });
});
