import { onTestFinished } from "vitest";
import type { Language } from "../../src/core/language.js";
import { Session } from "../../src/db/session/session.js";
import type { Notebook } from "../../src/notebook/notebook.js";
import { parseNotebook } from "../../src/notebook/parse/parse-notebook.js";
import { type CellRun, computeParameters, runCells } from "../../src/notebook/run-notebook.js";

/** What a test keeps of results. */
const KEPT = { table: (asked: number) => asked, chart: 50_000 };

/** Runs a notebook; without a session, in a new database. */
export async function runText(
  text: string,
  given: Readonly<Record<string, string>> = {},
  open?: Session,
  language?: Language,
): Promise<{ notebook: Notebook; runs: CellRun[]; parameters: [string, string][] }> {
  const session = open ?? (await emptySession());
  const notebook = parseNotebook(text, "test.sql", language);
  const values = await computeParameters(session, notebook, new Map(Object.entries(given)));
  const runs: CellRun[] = [];
  for await (const run of runCells(session, notebook, values, KEPT)) runs.push(run);
  const parameters = [...values].map(([name, { value }]): [string, string] => [name, String(value)]);
  return { notebook, runs, parameters };
}

/** A database in memory that is closed when the test is over. */
export async function emptySession(): Promise<Session> {
  const session = await Session.open({ threads: 1 });
  onTestFinished(() => session.close());
  return session;
}
