import { z } from "zod";
import { recordBatch } from "../../../arrow/record-batch.js";
import { IssueLog } from "../../../core/issue.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { instantOf } from "../../../market/zone.js";
import type { Column } from "../../../schema/column.js";
import { ENDPOINTS } from "../../../wire/endpoints.js";
import { exFactor } from "../../../wire/resources.js";
import { dateOption } from "../../time-input.js";
import { requestedSymbols, symbolsByRegion } from "../klines/kline-request.js";
import type { ServiceAccess } from "../service-access.js";
import { type AskOptions, askBatches } from "./ask-records.js";
import { RecordTable } from "./record-table.js";

/** The window of ex-events. */
export interface ExFactorOptions extends AskOptions {
  /** First trading date `YYYY-MM-DD`, of each exchange's own calendar. @default all */
  readonly from?: string | undefined;
  /** Date after the last one. @default all */
  readonly to?: string | undefined;
}

/** The ratio of one ex-event: the close of the bar before, divided by the exchange's previous close. */
export interface ExFactor {
  readonly symbol: string;
  /** Midnight of the exchange on the ex-date, epoch milliseconds. */
  readonly timestamp: number;
  readonly ex_factor: number;
}

/** Services permit fewer symbols here than elsewhere. */
const MOST_SYMBOLS = 50;

const COLUMNS: readonly Column[] = [
  { name: "symbol", type: "string", doc: "" },
  { name: "timestamp", type: "timestamp", unit: "UTC", doc: "" },
  { name: "ex_factor", type: "double", unit: "ratio", doc: "" },
];

/** The ex-events of symbols, ordered by symbol, as in the request, and time. */
export async function askExFactors(
  access: ServiceAccess,
  symbols: readonly string[],
  options: ExFactorOptions,
): Promise<RecordTable<ExFactor>> {
  const some = requestedSymbols("exFactors", symbols);
  const [from, to] = [edgeOf("from", options.from), edgeOf("to", options.to)];
  const byRegion = symbolsByRegion(some);
  const factors = new Map<string, ExFactor[]>();
  const issues = new IssueLog();
  for (const [region, own] of byRegion) {
    const query = { start_time: from?.(region), end_time: to === undefined ? undefined : to(region) - 1 };
    const received = await askBatches(
      access,
      own,
      MOST_SYMBOLS,
      (part) => ({ endpoint: ENDPOINTS.exFactors, query: { symbols: part.join(","), ...query } }),
      { shape: "map", element: z.array(exFactor) },
      options,
    );
    issues.addAll(received.issues);
    for (const [symbol, list] of received.entries)
      factors.set(
        symbol,
        list.toSorted((a, b) => a.timestamp - b.timestamp).map((one) => ({ symbol, ...one })),
      );
  }
  const rows = some.flatMap((symbol) => factors.get(symbol) ?? []);
  const unknown = some.filter((symbol) => !factors.has(symbol));
  return new RecordTable(
    recordBatch(
      COLUMNS,
      rows.map((row) => ({ ...row })),
    ),
    rows,
    issues,
    unknown,
  );
}

function edgeOf(name: string, date: string | undefined): ((region: Region) => number) | undefined {
  if (date === undefined) return undefined;
  const parsed = dateOption(`exFactors: ${name}`, date);
  return (region) => instantOf(parsed, REGIONS[region].zone);
}
