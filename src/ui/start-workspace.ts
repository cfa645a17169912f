import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { BarlakeError, cannotListen, QueryError, UsageError } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { readExRules, readNames } from "../db/market/read-ex-rules.js";
import type { Session } from "../db/session/session.js";
import type { Lake } from "../lake/lake.js";
import type { SegmentOptions } from "../lake/places.js";
import { Access, addGuard, refusalPage, TOKEN, wantsPage } from "./http/guard.js";
import { addInstrumentRoutes } from "./http/instrument-routes.js";
import { addLakeRoutes, addResultRoutes } from "./http/lake-routes.js";
import { addNotebookRoutes } from "./http/notebook-routes.js";
import { PAGE, readPageFiles } from "./http/page-files.js";
import { addQualityRoutes } from "./http/quality-routes.js";
import { addRunsRoutes } from "./http/runs-routes.js";
import { SegmentBars } from "./instrument/segment-bars.js";
import { QueryProcesses } from "./process/query-processes.js";
import { StoredResults } from "./results/stored-results.js";
import { NO_RUN_PLACE, type RunPlace, StartedRuns } from "./runs/started-runs.js";
import { type LakeState, LakeStates } from "./session/lake-states.js";
import type { SessionLimits } from "./session/session-limits.js";
import { SessionReaders } from "./session/session-readers.js";
import type { WorkspaceParts } from "./workspace-parts.js";

export interface WorkspaceOptions {
  /** The port; 0 takes any free one. @default `preferredPort` if it is free, else any free one */
  readonly port?: number | undefined;
  /** @default none */
  readonly preferredPort?: number | undefined;
  /** The location of the lake as the user named it, for commands that the page shows. @default its full location */
  readonly location?: string | undefined;
  /** Folder of the user's notebooks. @default none */
  readonly notebooks?: string | undefined;
  /** Folder of the user's pipelines. @default `pipelines` in the working directory, if it exists */
  readonly pipelines?: string | undefined;
  /** Where runs that are started from the page get their key. @default no run can be started */
  readonly runPlace?: RunPlace | undefined;
  /** Where this machine stores segments of bars, from which charts are drawn. False: no segments are used. */
  readonly segments?: SegmentOptions | false | undefined;
  readonly limits?: SessionLimits | undefined;
  /** @default that of the lake */
  readonly clock?: Clock | undefined;
}

export interface Workspace extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** A new address of the workspace, which admits one browser once. @param path of a view. @default the view Lake */
  address(path?: string): string;
  close(): Promise<void>;
}

/** The only address on which the workspace listens. Other machines cannot reach it. */
const HOST = "127.0.0.1";
const MAX_URL_LENGTH = 16 * 1024;

/**
 * A page, and a server for its requests. It only reads the lake, but it saves notebooks and, where a service is given,
 * runs pipelines. @throws {BarlakeError} where the page was not built, or the port is not available.
 */
export async function startWorkspace(lake: Lake, options: WorkspaceOptions = {}): Promise<Workspace> {
  const clock = options.clock ?? lake.clock;
  const readers = new SessionReaders(lake, clock, options.limits);
  const processes = new QueryProcesses(lake, clock, options.limits);
  const results = new StoredResults(processes);
  const place = options.segments === false ? undefined : lake.segmentPlace(options.segments);
  const reading =
    <T>(read: (session: Session) => Promise<T>) =>
    (state: LakeState): Promise<T> =>
      readers.use(state, { signal: new AbortController().signal }, ({ session }) => read(session));
  const reads = { rules: reading(readExRules), names: reading(readNames) };
  const segments = place && new SegmentBars(lake, place, reads);
  const parts: WorkspaceParts = {
    lake,
    location: options.location ?? lake.location,
    states: new LakeStates(lake),
    readers,
    processes,
    results,
    segments,
    clock,
    notebooks: options.notebooks,
    pipelines: options.pipelines,
    runPlace: options.runPlace ?? NO_RUN_PLACE,
  };
  let access = new Access(0);
  const started = new StartedRuns(lake, clock, parts.runPlace);
  const app = await makeApp(parts, started, () => access);
  const port = await listen(app, options);
  access = new Access(port);
  const url = `http://${HOST}:${port}`;
  const close = async (): Promise<void> => {
    const ending = [readers, processes, started].map((one) => one[Symbol.asyncDispose]());
    await Promise.all([app.close(), ...ending]);
    await segments?.[Symbol.asyncDispose]();
  };
  return {
    url,
    port,
    address: (path = "/") => `${url}${path}${path.includes("?") ? "&" : "?"}${TOKEN}=${access.newToken()}`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Listens on the given port, or on the preferred one, or, if that fails, on any free one. @returns the port. */
async function listen(
  app: FastifyInstance,
  { port, preferredPort = 0 }: Pick<WorkspaceOptions, "port" | "preferredPort">,
): Promise<number> {
  const at = { host: HOST, port: port ?? preferredPort };
  const isFixed = port !== undefined;
  await app
    .listen(at)
    .catch((cause: unknown) => (isFixed ? Promise.reject(cause) : app.listen({ ...at, port: 0 })))
    .catch((cause: unknown) => {
      throw cannotListen(
        "workspace",
        at,
        cause,
        "give another `port`, or end the program that listens there",
      );
    });
  return (app.server.address() as AddressInfo).port;
}

async function makeApp(
  parts: WorkspaceParts,
  started: StartedRuns,
  access: () => Access,
): Promise<FastifyInstance> {
  const app = fastify({
    forceCloseConnections: true,
    requestIdHeader: false,
    // In rows that were set aside, a symbol can be any text.
    routerOptions: { maxParamLength: MAX_URL_LENGTH },
    http: { maxHeaderSize: 2 * MAX_URL_LENGTH },
  });
  addGuard(app, access);
  addErrors(app);
  const files = await readPageFiles();
  app.get<{ Params: { name: string } }>("/assets/:name", async ({ params }, reply) => {
    const file = files.get(params.name);
    if (file === undefined) return reply.callNotFound();
    return reply.type(file.type).send(file.bytes);
  });
  for (const path of [
    "/",
    "/lake",
    "/instrument/*",
    "/notebook",
    "/notebook/*",
    "/quality",
    "/quality/*",
    "/runs",
    "/runs/*",
  ])
    app.get(path, (_, reply) => reply.type("text/html; charset=utf-8").send(PAGE));
  addLakeRoutes(app, parts);
  addInstrumentRoutes(app, parts);
  addNotebookRoutes(app, parts);
  addQualityRoutes(app, parts);
  addResultRoutes(app, parts);
  addRunsRoutes(app, parts, started);
  return app;
}

function addErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const { statusCode = 500 } = error as { readonly statusCode?: number };
    const isOwn = error instanceof BarlakeError;
    const status =
      error instanceof UsageError ? 400 : error instanceof QueryError ? 422 : isOwn ? 503 : statusCode;
    const message = error instanceof Error ? error.message : String(error);
    const hint = (isOwn ? error.hint : undefined) ?? null;
    void reply.code(status);
    if (!wantsPage(request)) return reply.send({ message, hint });
    return reply
      .type("text/html; charset=utf-8")
      .send(refusalPage("This address has no page", message, hint));
  });
  app.setNotFoundHandler((request, reply) => {
    void reply.code(404);
    // The page itself says that it has no such view, and leads to those that it has.
    if (request.method === "GET" && wantsPage(request))
      return reply.type("text/html; charset=utf-8").send(PAGE);
    const path = request.url.split("?")[0]?.slice(0, 80);
    return reply.send({ message: `there is no ${path}`, hint: "open /" });
  });
}
