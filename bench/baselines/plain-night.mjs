// A night as one would script it with DuckDB: which symbols lack the day, their bars as JSON, a Parquet file more. It
// checks nothing, and records nothing. Parameters: the folder of the bars, the day, the address of the service, its key.
import { DuckDBInstance } from "@duckdb/node-api";

const [folder, day, url, key] = process.argv.slice(2);
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const bars = `read_parquet('${folder}/**/*.parquet', hive_partitioning = true, union_by_name = true)`;
const lacking = await connection.runAndReadAll(
  `SELECT symbol FROM ${bars} GROUP BY symbol HAVING max(trade_date) < DATE '${day}' ORDER BY symbol`,
);
const symbols = lacking.getRows().map(([symbol]) => String(symbol));
await connection.run(
  "CREATE TABLE bars (symbol VARCHAR, ms BIGINT, open DOUBLE, high DOUBLE, low DOUBLE, close DOUBLE, volume BIGINT, amount DOUBLE)",
);
const appender = await connection.createAppender("bars");
const start = Date.parse(`${day}T00:00:00+08:00`);
let rows = 0;
for (let first = 0; first < symbols.length; first += 100) {
  const query = new URLSearchParams({
    symbols: symbols.slice(first, first + 100).join(","),
    period: "1d",
    start_time: String(start),
    end_time: String(start + 86_400_000 - 1),
    adjust: "none",
  });
  const response = await fetch(`${url}/v1/klines/batch?${query}`, { headers: { "x-api-key": key } });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  for (const [symbol, one] of Object.entries((await response.json()).data)) {
    for (let i = 0; i < one.timestamp.length; i++, rows++) {
      appender.appendVarchar(symbol);
      appender.appendBigInt(BigInt(one.timestamp[i]));
      for (const name of ["open", "high", "low", "close"]) appender.appendDouble(one[name][i]);
      appender.appendBigInt(BigInt(one.volume[i]));
      appender.appendDouble(one.amount[i]);
      appender.endRow();
    }
  }
}
appender.closeSync();
if (rows > 0)
  await connection.run(
    `COPY (FROM bars ORDER BY symbol, ms) TO '${folder}/night.parquet' (COMPRESSION zstd)`,
  );
process.stdout.write(JSON.stringify({ rows }));
