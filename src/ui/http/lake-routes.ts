import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { knownAtOf, textMs } from "../../api/inputs.js";
import { UsageError } from "../../core/errors.js";
import type { Known } from "../../db/market/known-sql.js";
import { listRuns } from "../../jobs/run/report/run-history.js";
import { type KnownAt, knownDates } from "../../market/known-at.js";
import { REGION_NAMES } from "../../market/regions.js";
import { isSymbol } from "../../market/symbol.js";
import { coverageReport, missingReport } from "../lake/coverage-report.js";
import { commitTimes, lakeSummary, marketSummary, readQuotes } from "../lake/lake-summary.js";
import type { FaultReport } from "../page-data.js";
import { EXPORT_FORMATS } from "../process/jobs.js";
import { runReport } from "../runs/pipeline-reports.js";
import type { LakeState } from "../session/lake-states.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { goneSignal, oneOf, queryOf, ResultCache, regionIn, required } from "./request-use.js";

const MOST_RUNS = 12;
/** Most instruments of which a page requests the newest bar. */
const MOST_QUOTED = 200;
/** Coverage is computed again after this time in milliseconds, because sessions begin and holes become due. */
const COVERAGE_MS = 300_000;

export function addLakeRoutes(app: FastifyInstance, parts: WorkspaceParts): void {
  const { lake, states, readers, clock } = parts;
  const shownAt = ({ known, asOf }: LakeState): KnownAt => known?.knownAt ?? asOf ?? clock.now();
  app.get("/api/state", async (request) => {
    const query = queryOf(request);
    const asOf = query.get("asof");
    const known = knownIn(query);
    const state = asOf === undefined ? await states.newest(known) : await states.at(instantOf(asOf), known);
    return lakeSummary(lake, state, parts.location, latestOf(state) ?? clock.now());
  });
  app.get("/api/commits", async () => ({ times: await commitTimes(lake) }));
  app.get("/api/market", async (request, reply) => {
    const use = { signal: goneSignal(reply) };
    const state = stateOf(request, parts);
    const markets = await readers.use(state, use, (reader) => marketSummary(reader, shownAt(state)));
    return { markets };
  });
  app.get("/api/quotes", async (request, reply) => {
    const use = { signal: goneSignal(reply) };
    const state = stateOf(request, parts);
    const symbols = required(queryOf(request), "symbols").split(",").filter(isSymbol).slice(0, MOST_QUOTED);
    const quotes = await readers.use(state, use, (reader) => readQuotes(reader, symbols, shownAt(state)));
    return { quotes };
  });
  const measured = new ResultCache(1);
  app.get("/api/coverage", (request) => {
    const state = stateOf(request, parts);
    // The work goes on when the page that requested it is closed: other pages may wait for the same result.
    const { signal: never } = new AbortController();
    return measured.of(`${state.id} ${Math.floor(clock.now() / COVERAGE_MS)}`, never, (signal) =>
      readers.use(state, { signal }, (reader) => coverageReport({ reader, lake, clock }, state)),
    );
  });
  app.get("/api/missing", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const cell = {
      dataset: oneOf(query, "dataset", ["bars_1d", "bars_1m"]),
      region: regionIn(query),
      month: required(query, "month"),
    };
    return readers.use(stateOf(request, parts), { signal }, (reader) =>
      missingReport({ reader, lake, clock }, cell, parts.location),
    );
  });
  app.get("/api/runs", async (request, reply: FastifyReply) => {
    const use = { signal: goneSignal(reply) };
    const rows = await readers.use(stateOf(request, parts), use, ({ session }) =>
      listRuns(session, { limit: MOST_RUNS }),
    );
    return { runs: rows.map(runReport) };
  });
}

/** The state that a request names. @throws {UsageError} */
export function stateOf(request: FastifyRequest, { states }: WorkspaceParts): LakeState {
  return states.of(required(queryOf(request), "state"));
}

/** Until when what a page shows was known, in its query: a date, or a time. */
function knownIn(query: ReadonlyMap<string, string>): Known | undefined {
  const text = query.get("known");
  if (text === undefined || text === "") return undefined;
  return { knownAt: knownAtOf("known", text), assumesReference: query.get("assume") === "1" };
}

/** The latest instant that a state shows; undefined: now. */
function latestOf({ asOf, known }: LakeState): number | undefined {
  if (known === undefined) return asOf;
  return Math.max(...REGION_NAMES.map((region) => knownDates(known.knownAt, region).until));
}

function instantOf(text: string): number {
  const ms = /^\d{9,15}$/.test(text) ? Number(text) : textMs(text);
  if (Number.isInteger(ms)) return ms;
  throw new UsageError(`asof: ${JSON.stringify(text.slice(0, 40))} is no time`, {
    hint: "write it like 2026-11-20T08:30:00Z",
  });
}

const GONE: FaultReport = { message: "this result is no longer stored", hint: "run the cell again" };
const TYPES = {
  csv: "text/csv; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file",
} as const;

export function addResultRoutes(app: FastifyInstance, { results }: WorkspaceParts): void {
  app.get("/api/result", async (request, reply) => {
    const query = queryOf(request);
    const [from, count] = ["from", "count"].map((name) => wholeIn(query, name)) as [number, number];
    const choice = {
      column: query.has("column") ? wholeIn(query, "column") : undefined,
      isDescending: query.has("descending"),
      contains: query.get("contains") || undefined,
    };
    const rows = await results.rowsOf(required(query, "id"), from, count, choice);
    if (rows === undefined) return reply.code(410).send(GONE);
    return reply.type("application/json; charset=utf-8").send(rows);
  });
  app.get("/api/result/file", async (request, reply) => {
    const query = queryOf(request);
    const format = oneOf(query, "format", EXPORT_FORMATS);
    const content = await results.export(required(query, "id"), format, goneSignal(reply));
    if (content === undefined) return reply.code(410).send(GONE);
    void reply.type(TYPES[format]).header("content-disposition", `attachment; filename="result.${format}"`);
    return reply.send(content);
  });
}

function wholeIn(query: ReadonlyMap<string, string>, name: string): number {
  const value = Number(required(query, name));
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new UsageError(`${name}: a whole number is needed`);
}
