import type { FastifyInstance, FastifyRequest } from "fastify";
import { UsageError } from "../../core/errors.js";
import type { Pipeline } from "../../jobs/pipeline/definition.js";
import { loadPipeline, pipelineFiles } from "../../jobs/pipeline/load-pipeline.js";
import { RUN_STATUSES } from "../../schema/runs.js";
import { pageWithin } from "../quality/quality-data.js";
import {
  otherRuns,
  pageOfRuns,
  pipelineReports,
  planReport,
  runDetailsReport,
} from "../runs/pipeline-reports.js";
import type { LiveReport, OtherRunReport, PipelinesReport } from "../runs/runs-data.js";
import type { StartedRuns } from "../runs/started-runs.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { SENT_BY_PAGE } from "./guard.js";
import { stateOf } from "./lake-routes.js";
import { goneSignal, queryOf, ResultCache, required } from "./request-use.js";

/** The runs of other processes are read again after this time in milliseconds, for all pages together. */
const LIVE_MS = 2000;
/** Most such reads that are cached: a page may still wait for the previous one. */
const MOST_LIVE = 2;
/** Most bytes of the body of a request. */
const BODY_LIMIT = 4096;

export function addRunsRoutes(app: FastifyInstance, parts: WorkspaceParts, started: StartedRuns): void {
  const { lake, states, readers, clock, location, pipelines: folder, runPlace } = parts;
  const cache = new ResultCache(MOST_LIVE);
  app.get("/api/pipelines", async (request, reply): Promise<PipelinesReport> => {
    const signal = goneSignal(reply);
    const state = stateOf(request, parts);
    const pipelines = await readers.use(state, { signal }, (reader) => pipelineReports(parts, reader));
    const right = runPlace.kind === "ready" ? ({ kind: "ready", host: runPlace.host } as const) : runPlace;
    return { pipelines, right };
  });
  app.get("/api/pipelines/plan", async (request) =>
    planReport(parts, await pipelineOf(required(queryOf(request), "pipeline"), folder)),
  );
  app.get("/api/runs/list", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const status = RUN_STATUSES.find((one) => one === query.get("status"));
    const filter = { pipeline: query.get("pipeline"), status };
    return readers.use(stateOf(request, parts), { signal }, ({ session }) =>
      pageWithin(Number(query.get("page") ?? 1), (page) => pageOfRuns(session, filter, page)),
    );
  });
  app.get("/api/runs/details", async (request, reply) => {
    const signal = goneSignal(reply);
    const id = required(queryOf(request), "id");
    return readers.use(stateOf(request, parts), { signal }, (reader) =>
      runDetailsReport(reader, lake, id, location),
    );
  });
  app.get("/api/runs/live", async (_, reply): Promise<LiveReport> => {
    const gone = goneSignal(reply);
    const now = clock.now();
    const own = started.reports();
    const key = `live ${Math.floor(now / LIVE_MS)}`;
    const all = await cache.of(key, gone, async (signal): Promise<OtherRunReport[]> => {
      const state = await states.newest();
      return readers.use(state, { signal }, ({ session }) => otherRuns(session, lake, now));
    });
    const isOwn = (one: OtherRunReport): boolean =>
      own.some(
        ({ pipeline, ended }) => ended === null && (one.pipeline === null || one.pipeline === pipeline),
      );
    return { started: own, others: all.filter((one) => !isOwn(one)), now };
  });
  const sent = { config: SENT_BY_PAGE, bodyLimit: BODY_LIMIT };
  app.post("/api/runs/start", sent, async (request) => {
    started.start(await pipelineOf(pipelineIn(request), folder));
    return { started: true };
  });
  app.post("/api/runs/stop", sent, async (request) => {
    started.stop(pipelineIn(request));
    return { stopping: true };
  });
}

/** A pipeline by its name. The path of a file is not accepted. @throws {UsageError} */
async function pipelineOf(name: string, folder: string | undefined): Promise<Pipeline> {
  if ((await pipelineFiles(folder)).has(name)) return loadPipeline(name, folder);
  throw new UsageError(`there is no pipeline ${JSON.stringify(name.slice(0, 80))}`, {
    hint: "reload the page",
  });
}

function pipelineIn({ body }: FastifyRequest): string {
  const name = (body as { readonly pipeline?: unknown } | null | undefined)?.pipeline;
  if (typeof name === "string") return name;
  throw new UsageError("the body names no pipeline");
}
