import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampValue } from "@duckdb/node-api";

/** A database opened with DuckDB's Node client, without any code of this project. */
export interface PlainDatabase extends Disposable {
  readonly connection: DuckDBConnection;
}

export async function openPlainDatabase(): Promise<PlainDatabase> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  return {
    connection,
    [Symbol.dispose]() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** A bar as a row object, as in most programs. */
export interface BarRow {
  readonly symbol: string;
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  readonly amount: number;
}

/** The members of Compact K-line data that every response has. */
export interface BarArrays {
  readonly timestamp: number[];
  readonly open: number[];
  readonly high: number[];
  readonly low: number[];
  readonly close: number[];
  readonly volume: number[];
  readonly amount: number[];
}

/** A K-line response as JSON.parse returns it. */
export interface ParsedBody {
  readonly data: Readonly<Record<string, BarArrays>>;
}

/** Converts a parsed response to row objects. */
export function barRows({ data }: ParsedBody): BarRow[] {
  const rows: BarRow[] = [];
  for (const [symbol, bars] of Object.entries(data)) {
    for (const [i, timestamp] of bars.timestamp.entries()) {
      rows.push({
        symbol,
        timestamp,
        open: bars.open[i] as number,
        high: bars.high[i] as number,
        low: bars.low[i] as number,
        close: bars.close[i] as number,
        volume: bars.volume[i] as number,
        amount: bars.amount[i] as number,
      });
    }
  }
  return rows;
}

/** Creates or empties the table `bars`. */
export async function makeBarsTable(connection: DuckDBConnection): Promise<void> {
  await connection.run(
    `CREATE OR REPLACE TABLE bars (symbol VARCHAR, timestamp TIMESTAMP, open DOUBLE, high DOUBLE, low DOUBLE,
       close DOUBLE, volume BIGINT, amount DOUBLE)`,
  );
}

/** Appends rows to the table `bars`, value by value. */
export async function appendRows(connection: DuckDBConnection, rows: Iterable<BarRow>): Promise<void> {
  const appender = await connection.createAppender("bars");
  for (const row of rows) {
    appender.appendVarchar(row.symbol);
    appender.appendTimestamp(new DuckDBTimestampValue(BigInt(row.timestamp) * 1000n));
    appender.appendDouble(row.open);
    appender.appendDouble(row.high);
    appender.appendDouble(row.low);
    appender.appendDouble(row.close);
    appender.appendBigInt(BigInt(row.volume));
    appender.appendDouble(row.amount);
    appender.endRow();
  }
  appender.closeSync();
}
