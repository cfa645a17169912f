import { resolve } from "node:path";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { UsageError } from "../../core/errors.js";
import { readCatalog } from "../../db/read-catalog.js";
import { parseNotebook } from "../../notebook/parse/parse-notebook.js";
import {
  expectNotebookName,
  listNotebooks,
  notebookWriter,
  readNotebook,
} from "../notebooks/notebook-files.js";
import { runInProcess } from "../notebooks/run-in-process.js";
import type { MoveReport, NotebookSource, SaveReport } from "../page-data.js";
import type { PageJob, ShownLake } from "../process/jobs.js";
import type { LakeState } from "../session/lake-states.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { SENT_BY_PAGE } from "./guard.js";
import { stateOf } from "./lake-routes.js";
import { goneSignal, languageIn, memberOf, queryOf, required, textIn } from "./request-use.js";

/** Pieces of a response between a producer, which waits until the previous one was taken, and the sender. */
export class PieceQueue {
  readonly #pieces: string[] = [];
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;
  #wake = (): void => {};
  #taken = (): void => {};

  /** @param gone aborts when the receiver has disconnected, which ends the queue. */
  constructor(gone: AbortSignal) {
    if (gone.aborted) this.end();
    else gone.addEventListener("abort", () => this.end(), { once: true });
  }

  /** Resolves once the piece was taken, or the queue has ended. @throws the signal's reason if it aborts first. */
  async push(piece: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isEnded) return;
    let stop = (): void => {};
    const taken = new Promise<void>((fulfil, reject) => {
      this.#taken = fulfil;
      stop = () => reject(signal?.reason as Error);
    });
    signal?.addEventListener("abort", stop, { once: true });
    this.#pieces.push(piece);
    this.#wake();
    try {
      await taken;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
    this.#taken();
  }

  /** Ends the queue with an error, which its reader gets. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  /** Waits for the first piece, or the end. @throws the error with which the queue has ended. */
  async begun(): Promise<void> {
    while (this.#pieces.length === 0) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isEnded) return;
      await new Promise<void>((fulfil) => {
        this.#wake = fulfil;
      });
    }
  }

  /** @throws the error with which the queue has ended. */
  async *pieces(): AsyncGenerator<string> {
    try {
      for (;;) {
        await this.begun();
        const piece = this.#pieces.shift();
        if (piece === undefined) return;
        this.#taken();
        yield piece;
      }
    } finally {
      this.end();
    }
  }
}

const PARAMETER = "p.";
/** Most bytes of the body of a request, which contains the text of a notebook. */
const BODY_LIMIT = 2 ** 20;
const SENT = { config: SENT_BY_PAGE, bodyLimit: BODY_LIMIT } as const;

export function addNotebookRoutes(app: FastifyInstance, parts: WorkspaceParts): void {
  const { states, readers, clock, processes, notebooks: folder } = parts;
  const writer = notebookWriter(folder);
  app.get("/api/notebooks", async (request) => ({
    notebooks: await listNotebooks(folder, languageIn(request)),
    folder: folder === undefined ? null : resolve(folder),
  }));
  app.get("/api/notebook", async (request): Promise<NotebookSource> => {
    const query = queryOf(request);
    const name = required(query, "name");
    // Its cells run as soon as the page shows them.
    processes.warm(states.last && shownLake(states.last, parts));
    const place = folder === undefined ? null : resolve(folder);
    const known = await listNotebooks(folder, "en");
    if (query.has("new") && !known.some((one) => one.name === name)) return newNotebook(name, place);
    const { text, hash, isExact, isShipped } = await readNotebook(folder, name);
    return { name, text, hash: isShipped ? null : hash, isExact, isShipped, folder: place };
  });
  app.get("/api/catalog", async (request, reply) => {
    const use = { signal: goneSignal(reply) };
    return readers.use(stateOf(request, parts), use, ({ session }) => readCatalog(session));
  });
  app.post("/api/notebook/run", SENT, async (request, reply) => {
    const signal = goneSignal(reply);
    const job = { ...notebookIn(request, parts), requested: linesIn(request.body) };
    const lines = new PieceQueue(signal);
    const push = (line: string, limited?: AbortSignal): Promise<void> => lines.push(`${line}\n`, limited);
    void runInProcess(job, parts, signal, push).finally(() => lines.end());
    void reply.type("application/x-ndjson; charset=utf-8");
    return reply.send(Readable.from(lines.pieces()));
  });
  app.post("/api/notebook/page", SENT, async (request, reply) => {
    const signal = goneSignal(reply);
    const { asOf } = stateOf(request, parts);
    const job = { ...notebookIn(request, parts), asOf, madeAt: clock.now() };
    const page = new PieceQueue(signal);
    const piece = (text: string, limited: AbortSignal): Promise<void> => page.push(text, limited);
    processes.perform({ kind: "page", ...job }, { signal }, { piece }).then(
      () => page.end(),
      (error: unknown) => page.fail(error),
    );
    // The first piece comes when the page is made: a failure before it is an error of the request.
    await page.begun();
    // The page is sent as a download: a page of this origin would have the rights of the workspace.
    void reply.type("text/html; charset=utf-8").header("content-disposition", "attachment");
    return reply.send(Readable.from(page.pieces(), { objectMode: false }));
  });
  app.put("/api/notebook", SENT, async (request, reply): Promise<SaveReport> => {
    const { body } = request;
    const before = memberOf(body, "before") ?? null;
    if (before !== null && typeof before !== "string") throw new UsageError("the body's before is no hash");
    const outcome = await writer.save({ name: textIn(body, "name"), text: textIn(body, "text"), before });
    if (outcome.kind === "changed") void reply.code(409);
    return outcome;
  });
  app.post("/api/notebook/rename", SENT, async ({ body }, reply): Promise<MoveReport> => {
    const { kind } = await writer.rename({ ...fileIn(body), to: textIn(body, "to") });
    if (kind !== "done") void reply.code(409);
    return { kind };
  });
  app.post("/api/notebook/delete", SENT, async ({ body }, reply): Promise<MoveReport> => {
    const { kind } = await writer.remove(fileIn(body));
    if (kind !== "done") void reply.code(409);
    return { kind };
  });
}

function fileIn(body: unknown): { readonly name: string; readonly before: string } {
  return { name: textIn(body, "name"), before: textIn(body, "before") };
}

/** The notebook that a page sends, with the values of its parameters and the versions of the lake that it shows. */
function notebookIn(
  request: FastifyRequest,
  parts: WorkspaceParts,
): Omit<PageJob, "kind" | "asOf" | "madeAt"> {
  return {
    lake: shownLake(stateOf(request, parts), parts),
    notebook: parseNotebook(textIn(request.body, "text"), textIn(request.body, "name"), languageIn(request)),
    given: givenIn(request),
  };
}

function shownLake({ pointInTime }: LakeState, { lake }: WorkspaceParts): ShownLake {
  return { location: lake.location, views: lake.userViews?.folder, pointInTime };
}

function givenIn(request: FastifyRequest): ReadonlyMap<string, string> {
  return new Map(
    [...queryOf(request)].flatMap(([name, value]) =>
      name.startsWith(PARAMETER) ? [[name.slice(PARAMETER.length), value] as const] : [],
    ),
  );
}

/** A notebook that has no file yet. @throws {UsageError} for a name that a file cannot have. */
function newNotebook(name: string, folder: string | null): NotebookSource {
  expectNotebookName(name);
  const text = `-- # ${name}\n\n-- %%\n`;
  return { name, text, hash: null, isExact: true, isShipped: false, folder };
}

/** The lines of the requested cells; undefined for every cell. @throws {UsageError} for anything else. */
function linesIn(body: unknown): readonly number[] | undefined {
  const cells = memberOf(body, "cells");
  if (cells === undefined) return undefined;
  if (Array.isArray(cells) && cells.every((line) => Number.isInteger(line))) return cells as number[];
  throw new UsageError("the body's cells are no lines");
}
