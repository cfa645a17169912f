import { type RecordBatch, Table, tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { expect, test } from "vitest";
import { batchesToIpc } from "../../src/arrow/batches-ipc.js";
import { runBatches } from "../../src/arrow/run-batches.js";
import { isPresent, setBit } from "../../src/core/bits.js";
import { NO_BARS } from "../../src/wire/encode/encode-klines.js";
import {
  DOUBLE_COLUMNS,
  type KlineRun,
  type KlineValues,
  type NumberColumn,
  OPTIONAL_COLUMNS,
} from "../../src/wire/kline-columns.js";

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

async function tableOf(batches: AsyncIterable<RecordBatch>): Promise<Table> {
  const pieces: Uint8Array[] = [];
  for await (const piece of batchesToIpc(batches, "stream")) pieces.push(piece);
  return tableFromIPC(Buffer.concat(pieces));
}

const anyRun = fc.record({
  before: fc.nat(20),
  rows: fc.nat(30),
  nulls: fc.constantFrom(undefined, 0, 1, 2, 9),
});

test("the stream has each run's rows, in the order of the blocks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(anyRun, { maxLength: 4 }), { maxLength: 4 }), async (drawn) => {
      let symbols = 0;
      const blocks = drawn.map((block) =>
        block.map(({ before, rows, nulls }) => runOf(`${symbols++}.SH`, before, rows, nulls)),
      );
      const names = Array.from({ length: symbols }, (_, k) => `${k}.SH`);
      expect(columnsOfTable(await tableOf(runBatches(blocks, names, NOTHING)))).toEqual(
        columnsOfRuns(blocks.flat()),
      );
    }),
    { numRuns: 60 },
  );
});

test("long runs are cut into batches that a client can read one by one", async () => {
  const runs = [
    runOf("A.SH", 5, 33_000, 3),
    runOf("B.SH", 0, 1, 0),
    { symbol: "C.SH", values: NO_BARS, start: 0, end: 0 },
    runOf("D.SH", 1, 2_000, undefined),
  ];
  const batches: RecordBatch[] = [];
  for await (const batch of runBatches([runs], ["A.SH", "B.SH", "C.SH", "D.SH"], NOTHING))
    batches.push(batch);
  expect(batches.map(({ numRows }) => numRows)).toEqual([32_768, 2_233]);
  expect(columnsOfTable(new Table(batches))).toEqual(columnsOfRuns(runs));
});

test("a stream without bars has the schema and the symbols", async () => {
  const table = await tableOf(runBatches([], ["A.SH"], new Map([["period", "1d"]])));
  expect([table.numRows, table.schema.fields.length, table.schema.metadata.get("period")]).toEqual([
    0,
    11,
    "1d",
  ]);
});

test("a stream that fails cannot be read as a whole one", async () => {
  async function* failing(): AsyncGenerator<readonly KlineRun[]> {
    yield [runOf("A.SH", 0, 10, 0)];
    throw new Error("the disk is gone");
  }
  const pieces: Uint8Array[] = [];
  const reading = async (): Promise<void> => {
    for await (const piece of batchesToIpc(runBatches(failing(), ["A.SH"], NOTHING), "stream"))
      pieces.push(piece);
  };
  await expect(reading()).rejects.toThrow("the disk is gone");
  expect(pieces.length).toBeGreaterThan(2);
  expect(() => tableFromIPC(Buffer.concat(pieces))).toThrow(/Expected to read/);
});
