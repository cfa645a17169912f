import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { hintOf, messageOf, UsageError } from "../core/errors.js";
import { defineDataset, specRule } from "../dataset/spec.js";
import { relationNamed } from "../db/catalog.js";
import { ident, literal } from "../db/quote.js";
import { ADJUSTMENTS, PERIODS } from "../market/period.js";
import { isSymbol } from "../market/symbol.js";
import { STATEMENT_NAMES } from "../schema/statements.js";
import type { QueryAnswer } from "../ui/process/jobs.js";
import { type LakeMoment, type LakeQuestions, MOST_ROWS } from "./lake-questions.js";
import { shownCatalog } from "./lake-resources.js";
import { searchLake, wordsOf } from "./search-lake.js";

const clock = z
  .object({
    asOf: z.string().nullable().describe("The versions are the newest committed by then; null: the newest"),
    knownAt: z.string().nullable().describe("Only what was known by then is seen; null: everything"),
    assumesReference: z
      .boolean()
      .describe("Whether names and members that the lake saw later count as known before"),
    versions: z.record(z.string(), z.number()).describe("Version of each table that was read"),
  })
  .describe("The state of the lake for which the answer holds; fixed by the server");
const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const truncated = z.string().nullable().describe("Null: complete; otherwise how to narrow it");
const rowsResult = z.object({
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(value)).describe("Values by column"),
  truncated,
  lake: clock,
});

const symbolRows = rowsResult.extend({
  missing: z.array(z.string()).describe("Symbols without rows; empty where rows are truncated"),
});

const date = z.iso.date();
const symbolList = z
  .array(z.string().refine(isSymbol, "must be of the form CODE.EXCHANGE, such as 600519.SH"))
  .min(1)
  .max(200)
  .describe("Such as 600519.SH, 00700.HK, AAPL.US");
const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Adds the tools to a server. Each reads the lake as it is at the server's point in time when it is called. */
export function addLakeTools(server: McpServer, questions: LakeQuestions): void {
  server.registerTool(
    "search",
    {
      title: "Search the lake",
      description:
        "Finds views, macros, instruments and universes by words of their names, comments and columns. Begin here. " +
        'Example: {"text": "price to book"} or {"text": "tencent"}',
      inputSchema: z.object({
        text: z.string().min(1).max(200).describe("Words; an instrument or a universe has all of them"),
        limit: z.number().int().min(1).max(100).default(20),
      }),
      outputSchema: z.object({
        found: z.array(z.object({ kind: z.string(), name: z.string(), says: z.string() })),
        truncated,
        lake: clock,
      }),
      annotations: READS,
    },
    ({ text, limit }, { mcpReq }) =>
      answered(async () => {
        const words = wordsOf(text);
        if (words.length === 0)
          throw new UsageError("text has no words", { hint: "give names or terms, such as dividend" });
        const moment = await questions.moment();
        const { found, isCut } = await searchLake(questions, moment, { words, limit }, mcpReq.signal);
        return {
          found,
          truncated: isCut ? "there are more: add a word, or raise limit" : null,
          lake: moment.clock,
        };
      }),
  );
  server.registerTool(
    "describe",
    {
      title: "Describe a view or macro",
      description:
        "Columns with types, units and notes, parameters, number of rows and the first of them, of a view, table or macro. " +
        'Example: {"name": "daily_valuation"}',
      inputSchema: z.object({
        name: z.string().min(1).max(200).describe("As search and statements name it"),
      }),
      outputSchema: z.object({
        name: z.string(),
        kind: z.string(),
        says: z.string(),
        parameters: z.array(z.object({ name: z.string(), note: z.string() })),
        columns: z.array(
          z.object({ name: z.string(), type: z.string(), unit: z.string(), note: z.string() }),
        ),
        rows: z.number().nullable().describe("Null: not counted"),
        uncounted: z.string().nullable().describe("Why a view was not counted, and has no sample"),
        sample: z.array(z.array(value)).describe("First rows, values by column"),
        lake: clock,
      }),
      annotations: READS,
    },
    ({ name }, { mcpReq }) =>
      answered(async () => {
        const moment = await questions.moment();
        return { ...(await describe(questions, moment, name, mcpReq.signal)), lake: moment.clock };
      }),
  );
  server.registerTool(
    "query",
    {
      title: "Query the lake",
      description:
        `One SELECT in DuckDB's SQL over the views and macros of the lake; at most ${MOST_ROWS} rows and 64 KB. Values are bound: $name. ` +
        'Example: {"sql": "SELECT symbol, price_to_book FROM daily_valuation WHERE symbol = $s ORDER BY trade_date DESC LIMIT 1", "values": {"s": "600519.SH"}}',
      inputSchema: z.object({
        sql: z.string().min(1).max(20_000),
        values: z
          .record(z.string().regex(/^\w+$/), z.union([value, z.array(value)]))
          .default({})
          .describe("Values of $name; a list is for IN (SELECT unnest($name)), dates are texts: $day::DATE"),
        limit: z.number().int().min(1).max(MOST_ROWS).default(MOST_ROWS).describe("Most rows"),
      }),
      outputSchema: rowsResult,
      annotations: READS,
    },
    ({ sql, values, limit }, { mcpReq }) =>
      answered(async () => {
        const moment = await questions.moment();
        const answer = await questions.ask(moment, sql, values, mcpReq.signal, limit);
        return rowsOf(answer, moment, "add a condition on symbol or date, aggregate, or name fewer columns");
      }),
  );
  server.registerTool(
    "bars",
    {
      title: "Bars",
      description:
        "Bars of symbols, oldest first: OHLC, volume, amount; adjusted for splits and dividends as of the server's time. " +
        'Example: {"symbols": ["00700.HK"], "period": "1d", "count": 20} or {"symbols": ["AAPL.US"], "period": "1M", "from": "2026-01-01"}',
      inputSchema: z.object({
        symbols: symbolList,
        period: z.enum(PERIODS).default("1d"),
        adjustment: z.enum(ADJUSTMENTS).default("forward"),
        from: date.optional().describe("First trading date"),
        to: date.optional().describe("Trading date after the last one"),
        count: z.number().int().min(1).max(MOST_ROWS).optional().describe("The last bars of each symbol"),
      }),
      outputSchema: symbolRows,
      annotations: READS,
    },
    ({ symbols: names, period, adjustment, from, to, count }, { mcpReq }) =>
      answered(async () => {
        const moment = await questions.moment();
        const sql = `SELECT symbol, trade_date, timestamp, open, high, low, close, volume, amount, lot, is_final
          FROM adjusted(${literal(period)}, ${literal(adjustment)})
          WHERE symbol IN (SELECT unnest($symbols::VARCHAR[])) AND trade_date >= coalesce($from::DATE, DATE '0001-01-01')
            AND trade_date < coalesce($to::DATE, DATE '9999-12-31')
          ${count === undefined ? "" : "QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY timestamp DESC) <= $count"}
          ORDER BY symbol, timestamp`;
        const values = {
          symbols: names,
          from: from ?? null,
          to: to ?? null,
          ...(count !== undefined && { count }),
        };
        const answer = await questions.ask(moment, sql, values, mcpReq.signal);
        return symbolRowsOf(
          names,
          answer,
          moment,
          "ask for fewer symbols, a shorter range, a smaller count, or a longer period",
        );
      }),
  );
  server.registerTool(
    "statements",
    {
      title: "Financial statements",
      description:
        "Statements of companies, newest period first, each in the version that counted on a date. " +
        'Example: {"table": "income", "symbols": ["600519.SH"], "items": ["revenue", "net_income"], "count": 4}',
      inputSchema: z.object({
        table: z.enum(STATEMENT_NAMES),
        symbols: symbolList,
        items: z
          .array(z.string().min(1).max(64))
          .min(1)
          .max(100)
          .optional()
          .describe("Columns; all if omitted"),
        count: z.number().int().min(1).max(100).default(4).describe("Periods of each symbol"),
        as_of: date.optional().describe("Versions as they counted on this date; omitted: the newest"),
      }),
      outputSchema: symbolRows,
      annotations: READS,
    },
    ({ table, symbols: names, items, count, as_of }, { mcpReq }) =>
      answered(async () => {
        const moment = await questions.moment();
        const columns = ["symbol", "period_end", "announce_date", ...(items ?? [])].map(ident).join(", ");
        // Of a period, the version that counts by then: of several, the one seen last, then the one announced last.
        const sql = `WITH counting AS (
            FROM known_versions(${literal(`raw.${table}`)})
            WHERE symbol IN (SELECT unnest($symbols::VARCHAR[])) AND known_from <= coalesce($as_of::DATE, DATE '9999-12-31')
            QUALIFY row_number() OVER (PARTITION BY symbol, period_end
              ORDER BY known_from DESC, first_seen_at DESC, announce_date DESC NULLS LAST) = 1)
          SELECT ${items === undefined ? "*" : columns} FROM counting
          QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY period_end DESC) <= $count
          ORDER BY symbol, period_end DESC`;
        const values = { symbols: names, count, as_of: as_of ?? null };
        const answer = await questions.ask(moment, sql, values, mcpReq.signal);
        return symbolRowsOf(names, answer, moment, "name items, or ask for fewer symbols or periods");
      }),
  );
  server.registerTool(
    "dataset_plan",
    {
      title: "Plan a dataset",
      description:
        "What a dataset for backtests would be: symbols, rows, missing values, bytes, warnings. Nothing is written; barlake dataset build builds it. " +
        'Example: {"definition": {"name": "mine", "universe": {"region": "CN"}, "from": "2025-01-01", "fields": ["close", {"name": "pb", "sql": "daily_valuation.price_to_book"}]}}',
      inputSchema: z.object({ definition: specRule.omit({ output: true }) }),
      outputSchema: z.looseObject({ symbols: z.number(), rows: z.number(), bytes: z.number(), lake: clock }),
      annotations: READS,
    },
    ({ definition }, { mcpReq }) =>
      answered(async () => {
        const moment = await questions.moment();
        const { folder: _, ...plan } = await questions.plan(moment, defineDataset(definition), mcpReq.signal);
        return { ...plan, lake: moment.clock };
      }),
  );
}

/** The result of a tool: structured, and as JSON for clients that show texts. An error says what to write instead. */
async function answered(work: () => Promise<Record<string, unknown>>): Promise<CallToolResult> {
  try {
    const structuredContent = await work();
    return { structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
  } catch (error) {
    const hint = hintOf(error);
    const text = hint === undefined ? messageOf(error) : `${messageOf(error)}\nInstead: ${hint}`;
    return { isError: true, content: [{ type: "text", text }] };
  }
}

function rowsOf({ columns, rows, isCut }: QueryAnswer, { clock: lake }: LakeMoment, narrower: string) {
  return { columns, rows, truncated: isCut ? `the first ${rows.length} rows: ${narrower}` : null, lake };
}

/** The rows of symbols, which are their first column. */
function symbolRowsOf(symbols: readonly string[], answer: QueryAnswer, moment: LakeMoment, narrower: string) {
  const found = new Set(answer.rows.map(([symbol]) => symbol));
  const missing = answer.isCut ? [] : symbols.filter((symbol) => !found.has(symbol));
  return { ...rowsOf(answer, moment, narrower), missing };
}

/** Most rows that a description shows. */
const SAMPLE = 3;

async function describe(questions: LakeQuestions, moment: LakeMoment, name: string, signal: AbortSignal) {
  const catalog = await questions.catalog(moment);
  const relation = relationNamed(catalog, name);
  const macro = catalog.macros.find((one) => one.name === name.toLowerCase().replace(/^main\./, ""));
  if (relation === undefined && macro === undefined)
    throw new UsageError(`the lake has no view or macro ${JSON.stringify(name)}`, {
      hint: "search finds them by what they show",
    });
  const shown = shownCatalog({
    ...catalog,
    relations: relation === undefined ? [] : [relation],
    macros: macro === undefined ? [] : [macro],
  });
  const columns = shown.relations[0]?.columns ?? [];
  const parameters = shown.macros[0]?.parameters ?? [];
  const kind = relation?.kind ?? "macro";
  const says = relation?.comment ?? macro?.summary ?? "";
  const facts = { name: relation?.name ?? name, kind, says, parameters, columns };
  if (relation === undefined || kind === "table macro")
    return { ...facts, rows: null, uncounted: null, sample: [] };
  const from = relation.name.split(".").map(ident).join(".");
  const counted = `SELECT n, t.* FROM (SELECT count(*) AS n FROM ${from}) LEFT JOIN (FROM ${from} LIMIT ${SAMPLE}) AS t ON true`;
  try {
    const { rows } = await questions.ask(moment, counted, {}, signal);
    const count = Number(rows[0]?.[0] ?? 0);
    return {
      ...facts,
      rows: count,
      uncounted: null,
      sample: count === 0 ? [] : rows.map((row) => row.slice(1)),
    };
  } catch (error) {
    signal.throwIfAborted();
    return { ...facts, rows: null, uncounted: messageOf(error), sample: [] };
  }
}
