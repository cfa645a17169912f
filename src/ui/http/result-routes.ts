import type { FastifyInstance } from "fastify";
import { UsageError } from "../../core/errors.js";
import type { FaultReport } from "../page-data.js";
import { EXPORT_FORMATS } from "../results/export-formats.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { goneSignal, oneOf, queryOf, required } from "./request-use.js";

const GONE: FaultReport = { message: "this result is no longer stored", hint: "run the cell again" };
const TYPES = {
  csv: "text/csv; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file",
} as const;

/** Routes of the results of a notebook: ranges of their rows, and files. */
export function addResultRoutes(app: FastifyInstance, { results }: WorkspaceParts): void {
  app.get("/api/result", async (request, reply) => {
    const query = queryOf(request);
    const [from, count] = ["from", "count"].map((name) => wholeIn(query, name)) as [number, number];
    const rows = await results.rowsOf(required(query, "id"), from, count);
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
