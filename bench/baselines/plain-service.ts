import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import fastify from "fastify";

/** Number of statements that run at a time: the same as in barlake's service. */
const CONNECTIONS = 4;

type Row = Readonly<Record<string, string | number>>;
type Query = Readonly<Record<string, string>>;

const BAR_FIELDS = ["timestamp", "open", "high", "low", "close", "volume", "amount", "prev_close"] as const;

/**
 * A simple service without barlake: each request is a query over the Parquet files of a lake, its rows are objects,
 * and JSON.stringify writes them. It caches the latest day and its connections; it checks nothing.
 *
 * @returns its URL.
 */
export async function startPlainService(folder: string): Promise<string> {
  const connections = await openConnections();
  let turn = 0;
  const rows = async (sql: string): Promise<Row[]> => {
    const connection = connections[turn++ % CONNECTIONS] as DuckDBConnection;
    return (await connection.runAndReadAll(sql)).getRowObjectsJS() as Row[];
  };
  const from = (table: string): string =>
    `read_parquet('${join(folder, table)}/**/*.parquet', hive_partitioning = true)`;
  const [latest] = await rows(`SELECT CAST(max(trade_date) AS VARCHAR) AS day FROM ${from("bars_1m")}`);
  const today = `${from("bars_1m")} WHERE trade_date = DATE '${latest?.day}' AND month = date_trunc('month', DATE '${latest?.day}')`;
  const members = (universes: string): string =>
    `symbol IN (SELECT symbol FROM ${from("universe_members")} WHERE id IN (${list(universes)}) AND valid_to IS NULL)`;

  const app = fastify();
  app.route({
    method: "GET",
    url: "/v1/klines/batch",
    async handler(request) {
      const { symbols = "", count = "100", period = "1d", start_time, end_time } = request.query as Query;
      const instant = (text: string): string => `make_timestamptz(${Number(text)}::BIGINT * 1000)`;
      const window =
        start_time && end_time
          ? ` AND timestamp BETWEEN ${instant(start_time)} AND ${instant(end_time)}`
          : "";
      const table = period === "1d" ? "bars_1d" : "bars_1m";
      return {
        data: groups(
          await rows(barsSql(`${from(table)} WHERE symbol IN (${list(symbols)})${window}`, Number(count))),
        ),
      };
    },
  });
  app.route({
    method: "GET",
    url: "/v1/klines/intraday/universe",
    async handler(request) {
      const { universes = "", count = "2" } = request.query as Query;
      return { data: groups(await rows(barsSql(`${today} AND ${members(universes)}`, Number(count)))) };
    },
  });
  app.route({
    method: "POST",
    url: "/v1/quotes",
    async handler(request) {
      const { universes } = request.body as { universes: string[] };
      return { data: (await rows(quotesSql(from, today, members(universes.join(","))))).map(quoteOf) };
    },
  });
  return app.listen({ host: "127.0.0.1", port: 0 });
}

async function openConnections(): Promise<DuckDBConnection[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => instance.connect()));
  for (const connection of connections) await connection.run("SET TimeZone = 'UTC'");
  return connections;
}

function list(texts: string): string {
  return texts
    .split(",")
    .map((text) => `'${text.replaceAll("'", "''")}'`)
    .join(", ");
}

function barsSql(source: string, count: number): string {
  return `SELECT symbol, CAST(epoch_ms(timestamp) AS DOUBLE) AS timestamp, open, high, low, close,
      CAST(volume AS DOUBLE) AS volume, amount, prev_close
    FROM ${source}
    QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY timestamp DESC) <= ${count}
    ORDER BY symbol, timestamp`;
}

/** Rows as the interface's arrays, by symbol. */
function groups(rows: readonly Row[]): Record<string, Record<string, unknown[]>> {
  const data: Record<string, Record<string, unknown[]>> = {};
  for (const row of rows) {
    let bars = data[row.symbol as string];
    if (bars === undefined) {
      bars = Object.fromEntries(BAR_FIELDS.filter((name) => row[name] !== null).map((name) => [name, []]));
      data[row.symbol as string] = bars;
    }
    for (const [name, values] of Object.entries(bars)) values.push(row[name]);
  }
  return data;
}

function quotesSql(from: (table: string) => string, today: string, members: string): string {
  return `WITH minutes AS (
      SELECT symbol, arg_min(open, timestamp) AS open, max(high) AS high, min(low) AS low,
        arg_max(close, timestamp) AS close, CAST(sum(volume) AS DOUBLE) AS volume, sum(amount) AS amount,
        CAST(epoch_ms(max(timestamp)) AS DOUBLE) AS timestamp
      FROM ${today} AND ${members} GROUP BY symbol),
    days AS (
      SELECT symbol, arg_max(close, timestamp) AS prev_close
      FROM ${from("bars_1d")} WHERE year = (SELECT max(year) FROM ${from("bars_1d")}) AND ${members} GROUP BY symbol)
    SELECT m.*, d.prev_close, i.name, i.float_shares
    FROM minutes m JOIN days d USING (symbol)
      JOIN (SELECT * FROM ${from("instruments")} WHERE valid_to IS NULL) i USING (symbol)
    ORDER BY symbol`;
}

function quoteOf(row: Row): object {
  const number = (name: string): number => row[name] as number;
  const [close, prev] = [number("close"), number("prev_close")];
  return {
    symbol: row.symbol,
    region: "CN",
    last_price: close,
    open: row.open,
    high: row.high,
    low: row.low,
    prev_close: prev,
    volume: row.volume,
    amount: row.amount,
    timestamp: row.timestamp,
    ext: {
      type: "cn_equity",
      change_amount: close - prev,
      change_pct: (close - prev) / prev,
      amplitude: (number("high") - number("low")) / prev,
      turnover_rate: (number("volume") * 100) / number("float_shares"),
      name: row.name,
    },
  };
}
