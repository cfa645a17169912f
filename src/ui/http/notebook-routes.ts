import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { parseNotebook } from "../../notebook/parse-notebook.js";
import { listNotebooks, readNotebook } from "../notebooks/notebook-files.js";
import { notebookLines } from "../notebooks/run-lines.js";
import type { NotebookLine } from "../page-data.js";
import { sandboxedEngine } from "../session/sandboxed-engine.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { stateOf } from "./lake-routes.js";
import { LineQueue } from "./line-queue.js";
import { goneSignal, queryOf, required } from "./request-use.js";

/** Names of an address that are no parameters of a notebook begin with this. */
const PARAMETER = "p.";

/** Routes of the view Notebook. */
export function addNotebookRoutes(app: FastifyInstance, parts: WorkspaceParts): void {
  const { readers, clock, notebooks: folder } = parts;
  app.get("/api/notebooks", async () => ({ notebooks: await listNotebooks(folder) }));
  app.get("/api/notebook", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const state = stateOf(request, parts);
    const { path, text } = await readNotebook(folder, required(query, "name"));
    const notebook = parseNotebook(text, path);
    const given = new Map(
      [...query].flatMap(([name, value]) =>
        name.startsWith(PARAMETER) ? [[name.slice(PARAMETER.length), value] as const] : [],
      ),
    );
    const lines = new LineQueue(signal);
    const running = readers.use(state, { signal, isForeign: true }, async ({ session }, limited) => {
      const engine = sandboxedEngine(session);
      for await (const line of notebookLines(engine, notebook, given, { signal: limited, clock }))
        await lines.push(JSON.stringify(line), limited);
    });
    running.then(
      () => lines.end(),
      async (error: unknown) => {
        const { message, hint = null } = error as Error & { readonly hint?: string | null };
        const fault: NotebookLine = { kind: "fault", fault: { message, hint } };
        await lines.push(JSON.stringify(fault));
        lines.end();
      },
    );
    void reply.type("application/x-ndjson; charset=utf-8");
    return reply.send(Readable.from(lines.pieces()));
  });
}
