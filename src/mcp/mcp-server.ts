import { McpServer } from "@modelcontextprotocol/server";
import { VERSION } from "../core/version.js";
import type { LakeQuestions } from "./lake-questions.js";
import { addLakeResources } from "./lake-resources.js";
import { addLakeTools } from "./lake-tools.js";

const INSTRUCTIONS = `A lake of market data: bars, reference data, corporate actions and financial statements, as views in DuckDB's SQL.
search finds views by what they show, describe gives columns and units, query runs one SELECT. A row for a date has only what was known
at its end (daily_valuation, daily_fundamentals, ..._history): use these for questions about the past. The point in time of the lake is
the server's, and every answer states it in lake.`;

/** A server of the Model Context Protocol for one connection, or one request, with the tools over a lake. */
export function mcpServer(questions: LakeQuestions): McpServer {
  const server = new McpServer(
    { name: "barlake", title: "barlake", version: VERSION },
    { instructions: INSTRUCTIONS },
  );
  addLakeTools(server, questions);
  addLakeResources(server, questions);
  return server;
}
