import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import { Session } from "../../../src/db/session/session.js";
import type { KlineColumns } from "../../../src/wire/kline-columns.js";
import { appendRows, type BarRow, makeBarsTable, openPlainDatabase } from "../../baselines/plain-duckdb.js";
import { klineBody } from "../../body.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { checksSql, sqlChecks } from "../../measure/checksum.js";

/** From bars in memory to an aggregate by symbol, computed by DuckDB. */
export const scan: Benchmark = {
  name: "scan",
  doc: "columns in memory -> an aggregate in DuckDB",
  async prepare(size) {
    const { columns } = klineBody(size);
    const session = await Session.open();
    return {
      summary: `${columns.symbols.length} symbols, ${columns.rows} bars`,
      work: { "bars/s": columns.rows },
      cases: [appender(columns), tableFunction(session, columns)],
      async close() {
        session.close();
      },
    };
  },
};

function tableFunction(session: Session, columns: KlineColumns): Case {
  return {
    name: "barlake: record batch, table function, aggregate",
    async run(timed) {
      const checks = await timed(() =>
        session.withBatch(klineBatch(columns), (table) => sqlChecks(session, table)),
      );
      return { checks };
    },
  };
}

function appender(columns: KlineColumns): Case {
  return {
    name: "appender by values, aggregate",
    async run(timed) {
      using database = await openPlainDatabase();
      const { connection } = database;
      await makeBarsTable(connection);
      const checks = await timed(async () => {
        await appendRows(connection, rowsOf(columns));
        const reader = await connection.runAndReadAll(checksSql("bars"));
        return reader.getRowObjectsJS()[0] as Record<string, number>;
      });
      return { checks };
    },
  };
}

function* rowsOf({
  rows,
  symbols,
  symbolIndex,
  timestamp,
  volume,
  doubles,
}: KlineColumns): Generator<BarRow> {
  const { open, high, low, close, amount } = doubles;
  for (let i = 0; i < rows; i++) {
    yield {
      symbol: symbols[symbolIndex[i] as number] as string,
      timestamp: Number(timestamp[i]),
      open: open.values[i] as number,
      high: high.values[i] as number,
      low: low.values[i] as number,
      close: close.values[i] as number,
      volume: Number(volume[i]),
      amount: amount.values[i] as number,
    };
  }
}
