import { ident } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { type WithdrawReport, withdrawRows } from "../../lake/land/absent-days.js";
import { openReader } from "../../lake/open-reader.js";
import { publish } from "../../lake/publish.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { newRunId } from "../run/run-pipeline.js";
import { type AskedWindow, compareWindow, isoSql, type SampleEnvironment } from "./check-sample.js";

interface WithdrawnBars {
  readonly symbol: string;
  readonly bars: number;
  /** Times of the first and the last of them, ISO 8601, UTC. */
  readonly first: string;
  readonly last: string;
}

export interface WithdrawnReport {
  readonly table: string;
  /** Number of bars in the window that both the lake and the service have. */
  readonly bars: number;
  readonly withdrawn: readonly WithdrawnBars[];
  /** Undefined where the withdrawal was not accepted. */
  readonly accepted: WithdrawReport | undefined;
}

/**
 * Finds final bars of a lake that a service no longer returns. They are requested twice; only bars that are missing
 * both times count.
 *
 * @param accept whether these bars are removed from the table's current version. Older versions still have them.
 * @throws {ServiceError}, {@link TransportError} or {@link WireError} where a request fails.
 */
export async function withdrawnBars(
  environment: SampleEnvironment,
  table: TableSchema,
  asked: Pick<AskedWindow, "symbols" | "window">,
  accept: boolean,
): Promise<WithdrawnReport> {
  const { lake, clock } = environment;
  const { session: reader } = await openReader(lake);
  using session = reader;
  const period = table === BARS_1D ? "1d" : "1m";
  const window: AskedWindow = { ...asked, period, control: await controlSymbol(session, table, asked) };
  await using sampled = new TempTable(session, "sampled_bars");
  await using gone = new TempTable(session, "withdrawn_bars");
  await compareWindow(session, sampled, environment, table, window);
  const found = `SELECT symbol, timestamp FROM ${sampled.name} WHERE kind = 'gone'`;
  const both = await countRows(session, `${sampled.name} WHERE kind IS NULL OR kind = 'changed'`);
  await gone.fill(found);
  const symbols = await symbolsIn(session, gone);
  if (symbols.length > 0) {
    await compareWindow(session, sampled, environment, table, { ...window, symbols });
    await session.run(`DELETE FROM ${gone.name} WHERE (symbol, timestamp) NOT IN (${found})`);
  }
  const withdrawn = await session.json<WithdrawnBars>(
    `SELECT symbol, count(*)::INT AS bars, ${isoSql("min(timestamp)")} AS first, ${isoSql("max(timestamp)")} AS last
     FROM ${gone.name} GROUP BY symbol ORDER BY symbol`,
  );
  const now = clock.now();
  const accepted =
    accept && withdrawn.length > 0
      ? await withdrawRows(session, lake, table, gone.name, { runId: newRunId(now), now })
      : undefined;
  if (accepted !== undefined) await publish(lake);
  return { table: table.name, bars: both, withdrawn, accepted };
}

/** Another symbol of the same region, with the most bars in a window. */
async function controlSymbol(
  session: Session,
  table: TableSchema,
  { symbols, window }: Pick<AskedWindow, "symbols" | "window">,
): Promise<string | undefined> {
  const [found] = await session.json<{ symbol: string }>(
    `SELECT symbol FROM raw.${ident(table.name)}
     WHERE timestamp >= make_timestamptz($2::BIGINT * 1000) AND timestamp < make_timestamptz($3::BIGINT * 1000)
       AND region = $4 AND symbol NOT IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
     GROUP BY symbol ORDER BY count(*) DESC, symbol LIMIT 1`,
    [jsonParameter(symbols), window.start, window.end, regionOf(symbols[0] ?? "") ?? ""],
  );
  return found?.symbol;
}

async function symbolsIn(session: Session, { name }: TempTable): Promise<string[]> {
  const rows = await session.json<{ symbol: string }>(`SELECT DISTINCT symbol FROM ${name} ORDER BY symbol`);
  return rows.map(({ symbol }) => symbol);
}
