import type { RecordBatch } from "apache-arrow";
import type { FastifyInstance } from "fastify";
import type { TradingDate } from "../../core/time.js";
import type { Reader } from "../../lake/open-reader.js";
import { ADJUSTMENTS, PERIODS } from "../../market/period.js";
import { isSymbol, parseSymbol } from "../../market/symbol.js";
import { queryBars, readBars } from "../instrument/bars-query.js";
import { findInstruments, InstrumentLists } from "../instrument/instrument-lists.js";
import { instrumentReport, statementsReport } from "../instrument/instrument-report.js";
import type { FoundInstrument, SearchReport } from "../page-data.js";
import type { LakeState } from "../session/lake-states.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { stateOf } from "./lake-routes.js";
import { dateOf, goneSignal, oneOf, queryOf, required } from "./request-use.js";

const MOST_FOUND = 12;
/** Most symbols of a comparison; the page has four. */
const MOST_COMPARED = 16;

export function addInstrumentRoutes(app: FastifyInstance, parts: WorkspaceParts): void {
  const { readers, segments } = parts;
  const lists = new InstrumentLists();
  const readOf =
    (state: LakeState) =>
    (use: (reader: Reader) => Promise<FoundInstrument[]>): Promise<FoundInstrument[]> =>
      readers.use(state, { signal: new AbortController().signal }, use);
  app.get("/api/search", async (request): Promise<SearchReport> => {
    const state = stateOf(request, parts);
    const query = queryOf(request);
    const { list, isWhole } = query.has("whole")
      ? { list: await lists.whole(state, readOf(state)), isWhole: true }
      : await lists.soonest(state, readOf(state));
    return {
      found: findInstruments(list, query.get("q") ?? "", MOST_FOUND),
      total: list.length,
      isWhole,
    };
  });
  app.get("/api/instrument", async (request, reply) => {
    const signal = goneSignal(reply);
    const state = stateOf(request, parts);
    const query = queryOf(request);
    const symbol = parseSymbol(required(query, "symbol"));
    // A text that is no symbol has no bars, which the chart says.
    const compared = (query.get("compare") ?? "").split(",").filter(isSymbol).slice(0, MOST_COMPARED);
    const list = await lists.whole(state, readOf(state));
    return readers.use(state, { signal }, (reader) => instrumentReport(reader, list, symbol, compared));
  });
  app.get("/api/statements", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const symbol = parseSymbol(required(query, "symbol"));
    return readers.use(stateOf(request, parts), { signal }, (reader) =>
      statementsReport(reader, symbol, dateOf(query, "known")),
    );
  });
  app.get("/api/bars", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const requested = {
      symbol: parseSymbol(required(query, "symbol")),
      period: oneOf(query, "period", PERIODS),
      adjustment: oneOf(query, "adjust", ADJUSTMENTS),
      to: dateOf(query, "to"),
    };
    const state = stateOf(request, parts);
    const { snapshots } = state;
    const read = async (from: TradingDate | undefined): Promise<readonly RecordBatch[]> => {
      const { batch, buildMissing } = (await segments?.read(state, requested, from)) ?? {};
      if (batch !== undefined) return [batch];
      const found = await readers.use(state, { signal }, (reader) => queryBars(reader, requested, from));
      buildMissing?.();
      return found;
    };
    const bars = await readBars({ snapshots, read }, requested);
    // Arrow is loaded with the first chart, so that the workspace starts faster.
    const { batchesToIpc } = await import("../../arrow/batches-ipc.js");
    const pieces: Uint8Array[] = [];
    for await (const piece of batchesToIpc(inTurn(bars.batches), "stream")) pieces.push(piece);
    return reply
      .type("application/vnd.apache.arrow.stream")
      .header("x-bars-from", bars.from ?? "")
      .header("x-bars-earlier", String(bars.hasEarlier))
      .send(Buffer.concat(pieces));
  });
}

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}
