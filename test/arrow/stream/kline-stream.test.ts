import { Table, tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { expect, test } from "vitest";
import { klineStream, klineStreamPieces } from "../../../src/arrow/stream/kline-stream.js";
import { isPresent, setBit } from "../../../src/core/bits.js";
import { NO_BARS } from "../../../src/wire/encode/encode-klines.js";
import {
  DOUBLE_COLUMNS,
  type KlineRun,
  type KlineValues,
  type NumberColumn,
  OPTIONAL_COLUMNS,
} from "../../../src/wire/kline-columns.js";

const NOTHING = new Map<string, string>();

/** A run within longer columns. `nulls`: of the optional columns, every so many rows; 0: of all rows, without values. */
function runOf(symbol: string, before: number, rows: number, nulls: number | undefined): KlineRun {
  const length = before + rows + 3;
  const column = (salt: number, isOptional: boolean): NumberColumn => {
    const values = Float64Array.from({ length }, (_, row) => salt + row / 7);
    if (!isOptional || nulls === undefined) return { values, validity: undefined };
    const validity = new Uint8Array(Math.ceil(length / 8));
    if (nulls === 0) return { values: new Float64Array(0), validity };
    for (let row = 0; row < length; row++) if (row % nulls !== 0) setBit(validity, row);
    return { values, validity };
  };
  const doubles = DOUBLE_COLUMNS.map((name, salt) => [name, column(salt, OPTIONAL_COLUMNS.has(name))]);
  const values = {
    timestamp: BigInt64Array.from({ length }, (_, row) => BigInt(row) * 60_000n),
    volume: BigInt64Array.from({ length }, (_, row) => 2n ** 60n + BigInt(row)),
    doubles: Object.fromEntries(doubles),
  } as KlineValues;
  return { symbol, values, start: before, end: before + rows };
}

type Columns = Readonly<Record<string, readonly unknown[]>>;

function columnsOfTable(table: Table): Columns {
  return Object.fromEntries(table.schema.names.map((name) => [name, [...(table.getChild(name) ?? [])]]));
}

function columnsOfRuns(runs: readonly KlineRun[]): Columns {
  const column = (of: (run: KlineRun, row: number) => unknown): unknown[] =>
    runs.flatMap((run) => Array.from({ length: run.end - run.start }, (_, k) => of(run, run.start + k)));
  const doubles = DOUBLE_COLUMNS.map((name) => [
    name,
    column(({ values: { doubles: all } }, row) =>
      isPresent(all[name].validity, row) ? all[name].values[row] : null,
    ),
  ]);
  return {
    symbol: column(({ symbol }) => symbol),
    timestamp: column(({ values }, row) => Number(values.timestamp[row])),
    volume: column(({ values }, row) => values.volume[row]),
    ...Object.fromEntries(doubles),
  };
}

async function tableOf(pieces: AsyncIterable<Uint8Array>): Promise<Table> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return tableFromIPC(Buffer.concat(all));
}

async function* asBlocks(blocks: readonly (readonly KlineRun[])[]): AsyncGenerator<readonly KlineRun[]> {
  yield* blocks;
}

const anyRun = fc.record({
  before: fc.nat(20),
  rows: fc.nat(30),
  nulls: fc.constantFrom(undefined, 0, 1, 2, 9),
});

test("the stream has each run's rows, in the order of the blocks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(anyRun, { maxLength: 4 }), { maxLength: 4 }), async (drawn) => {
      let count = 0;
      const blocks = drawn.map((block) =>
        block.map(({ before, rows, nulls }) => runOf(`${count++}.SH`, before, rows, nulls)),
      );
      const symbols = Array.from({ length: count }, (_, k) => `${k}.SH`);
      const facts = { symbols, metadata: NOTHING };
      const expected = columnsOfRuns(blocks.flat());
      expect(columnsOfTable(await tableOf(klineStreamPieces(asBlocks(blocks), facts)))).toEqual(expected);
      const whole = klineStream(blocks.flat(), facts);
      const bytes = Buffer.concat([...whole.pieces()]);
      expect(columnsOfTable(tableFromIPC(bytes))).toEqual(expected);
      expect(bytes.length).toBe(whole.byteLength);
    }),
    { numRuns: 60 },
  );
});

test("long runs are sent as they are, in batches that a client can read one by one; short ones are joined", () => {
  const runs = [
    runOf("A.SH", 5, 33_000, 3),
    runOf("B.SH", 0, 1, 0),
    { symbol: "C.SH", values: NO_BARS, start: 0, end: 0 },
    runOf("D.SH", 1, 2_000, undefined),
    runOf("E.SH", 16, 2_048, undefined),
  ];
  const stream = klineStream(runs, { symbols: runs.map(({ symbol }) => symbol), metadata: NOTHING });
  const sent = [...stream.pieces()];
  const table = tableFromIPC(Buffer.concat(sent));
  expect(table.batches.map(({ numRows }) => numRows)).toEqual([32_768, 232, 2_001, 2_048]);
  expect(columnsOfTable(table)).toEqual(columnsOfRuns(runs));
  const isSent = (values: Float64Array): boolean => sent.some(({ buffer }) => buffer === values.buffer);
  expect(runs.map(({ values }) => isSent(values.doubles.open.values))).toEqual([
    true,
    false,
    false,
    false,
    true,
  ]);
});

test("a column of nulls takes a bit a bar", () => {
  const bytes = [0, undefined].map((nulls) => {
    const runs = [runOf("A.SH", 0, 4_000, nulls)];
    return klineStream(runs, { symbols: ["A.SH"], metadata: NOTHING }).byteLength;
  });
  expect((bytes[1] as number) - (bytes[0] as number)).toBe(3 * (4_000 * 8 - 4_000 / 8 - 4));
  expect((bytes[0] as number) / 4_000).toBeLessThan(59);
});

test("more symbols than 16 bits can name have indexes of 32 bits", () => {
  const symbols = Array.from({ length: 40_000 }, (_, k) => `${k}.SH`);
  const last = runOf("39999.SH", 0, 3, undefined);
  const table = tableFromIPC(
    Buffer.concat([...klineStream([last], { symbols, metadata: NOTHING }).pieces()]),
  );
  expect([String(table.schema.fields[0]?.type), table.getChild("symbol")?.get(2)]).toEqual([
    "Dictionary<Int32, Utf8>",
    "39999.SH",
  ]);
});

test("a stream without bars has the schema", () => {
  const stream = klineStream([], { symbols: ["A.SH"], metadata: new Map([["period", "1d"]]) });
  const { numRows, schema } = tableFromIPC(Buffer.concat([...stream.pieces()]));
  expect([numRows, schema.fields.length, schema.metadata.get("period")]).toEqual([0, 11, "1d"]);
});

test("a stream that fails cannot be read as a whole one", async () => {
  async function* failing(): AsyncGenerator<readonly KlineRun[]> {
    yield [runOf("A.SH", 0, 10, 0)];
    throw new Error("the disk is gone");
  }
  const pieces: Uint8Array[] = [];
  const reading = async (): Promise<void> => {
    for await (const piece of klineStreamPieces(failing(), { symbols: ["A.SH"], metadata: NOTHING }))
      pieces.push(piece);
  };
  await expect(reading()).rejects.toThrow("the disk is gone");
  expect(pieces.length).toBeGreaterThan(2);
  expect(() => tableFromIPC(Buffer.concat(pieces))).toThrow(/Expected to read/);
});
