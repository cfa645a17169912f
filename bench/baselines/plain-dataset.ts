import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ident, literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { FIELDS, type Layout } from "../lakes/dataset-layout.js";

/** A bar as an object, with derived values. */
interface Bar {
  readonly symbol: string;
  readonly day: string;
  open: number;
  high: number;
  low: number;
  close: number;
  readonly volume: number;
  readonly amount: number;
  readonly prev_close: number;
  readonly lot: number;
  vwap: number;
  factor: number;
}

/** Symbols whose rows are read at a time: all of them at once do not fit into Node's default heap. */
const SYMBOLS_AT_A_TIME = 500;

/** The same datasets with one row object per bar. */
export async function plainDataset(lake: Lake, layout: Layout, output: string): Promise<void> {
  using session = await Session.open();
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1D)));
  const list = async (sql: string): Promise<string[]> =>
    (await session.json<{ name: string }>(sql)).map(({ name }) => name);
  const days = await list(
    `SELECT DISTINCT CAST(trade_date AS VARCHAR) AS name FROM (${files}) ORDER BY name`,
  );
  const symbols = await list(`SELECT DISTINCT symbol AS name FROM (${files}) ORDER BY name`);
  const writer = WRITERS[layout](session, days, output);
  for (let start = 0; start < symbols.length; start += SYMBOLS_AT_A_TIME) {
    const some = symbols.slice(start, start + SYMBOLS_AT_A_TIME);
    const rows = await session.json<Bar>(
      `SELECT symbol, CAST(trade_date AS VARCHAR) AS day, open, high, low, close, CAST(volume AS DOUBLE) AS volume, amount, prev_close, lot
       FROM (${files}) WHERE symbol BETWEEN ${literal(some[0] ?? "")} AND ${literal(some.at(-1) ?? "")} ORDER BY symbol, trade_date`,
    );
    const groups = new Map<string, Bar[]>(some.map((symbol) => [symbol, []]));
    for (const bar of rows) groups.get(bar.symbol)?.push(bar);
    for (const [symbol, bars] of groups) {
      adjust(bars);
      writer.write(symbol, bars);
    }
  }
  await writer.finish?.();
}

interface Writer {
  write(symbol: string, bars: readonly Bar[]): void;
  finish?(): Promise<void>;
}

function adjust(bars: readonly Bar[]): void {
  let factor = 1;
  let last: number | undefined;
  for (const bar of bars) {
    const ratio = last === undefined ? 1 : last / bar.prev_close;
    if (Math.abs(ratio - 1) >= 1e-9) factor *= ratio;
    last = bar.close;
    bar.factor = factor;
    bar.vwap = (bar.amount / (bar.volume * bar.lot)) * factor;
    for (const name of ["open", "high", "low", "close"] as const) bar[name] *= factor;
  }
}

function qlibWriter(_session: Session, days: readonly string[], output: string): Writer {
  mkdirSync(join(output, "calendars"), { recursive: true });
  writeFileSync(join(output, "calendars/day.txt"), days.map((day) => `${day}\n`).join(""));
  const index = new Map(days.map((day, i) => [day, i]));
  return {
    write(symbol, bars) {
      const [code = "", exchange = ""] = symbol.split(".");
      const folder = join(output, "features", `${exchange}${code}`.toLowerCase());
      mkdirSync(folder, { recursive: true });
      const start = index.get(bars[0]?.day ?? "") ?? 0;
      const end = index.get(bars.at(-1)?.day ?? "") ?? 0;
      for (const name of FIELDS) {
        const values = new Float32Array(end - start + 2).fill(Number.NaN);
        values[0] = start;
        for (const bar of bars) values[(index.get(bar.day) ?? 0) - start + 1] = bar[name];
        writeFileSync(join(folder, `${name}.day.bin`), values);
      }
    },
  };
}

function wideWriter(session: Session, days: readonly string[], output: string): Writer {
  mkdirSync(output, { recursive: true });
  const index = new Map(days.map((day, i) => [day, i]));
  const matrices = FIELDS.map(() => new Map<string, (number | null)[]>());
  return {
    write(symbol, bars) {
      for (const [f, name] of FIELDS.entries()) {
        const column: (number | null)[] = days.map(() => null);
        for (const bar of bars) column[index.get(bar.day) ?? 0] = bar[name];
        matrices[f]?.set(symbol, column);
      }
    },
    async finish() {
      for (const [f, matrix] of matrices.entries()) {
        const name = FIELDS[f] as string;
        const text = join(output, `${name}.json`);
        const file = openSync(text, "w");
        for (const [i, trade_date] of days.entries()) {
          const row: Record<string, string | number | null> = { trade_date };
          for (const [symbol, column] of matrix) row[symbol] = column[i] ?? null;
          writeSync(file, `${JSON.stringify(row)}\n`);
        }
        closeSync(file);
        const columns = [...matrix.keys()].map((symbol) => `${literal(symbol)}: 'DOUBLE'`).join(", ");
        await session.run(
          `COPY (FROM read_json(${literal(text)}, columns = {trade_date: 'DATE', ${columns}}, format = 'newline_delimited') ORDER BY ${ident("trade_date")})
           TO ${literal(join(output, `${name}.parquet`))} (FORMAT parquet, COMPRESSION zstd)`,
        );
      }
    },
  };
}

function longWriter(session: Session, _days: readonly string[], output: string): Writer {
  mkdirSync(output, { recursive: true });
  const text = join(output, "rows.json");
  const file = openSync(text, "w");
  return {
    write(_symbol, bars) {
      const lines = bars.map(
        (bar) =>
          `${JSON.stringify(Object.fromEntries(["symbol", "day", ...FIELDS].map((name) => [name, bar[name as keyof Bar]])))}\n`,
      );
      writeSync(file, lines.join(""));
    },
    async finish() {
      closeSync(file);
      const columns = FIELDS.map((name) => `${name}: 'DOUBLE'`).join(", ");
      await session.run(
        `COPY (SELECT symbol, day AS trade_date, ${FIELDS.join(", ")}, year(day) AS year
           FROM read_json(${literal(text)}, columns = {symbol: 'VARCHAR', day: 'DATE', ${columns}}, format = 'newline_delimited'))
         TO ${literal(join(output, "rows"))} (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (year))`,
      );
    },
  };
}

const WRITERS = { qlib: qlibWriter, wide: wideWriter, long: longWriter } as const satisfies Record<
  Layout,
  unknown
>;
