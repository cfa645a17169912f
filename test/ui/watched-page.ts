import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import type { Lake } from "../../src/lake/lake.js";
import { startWorkspace, type Workspace, type WorkspaceOptions } from "../../src/ui/start-workspace.js";
import { apiLake } from "../api/api-lake.js";
import { openBrowser, openPage } from "./open-browser.js";
import { PATIENT } from "./patient-session.js";

/** A page, with what it has complained of. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of its scripts, and what it wrote on the browser's console as an error or a warning. */
  readonly faults: readonly string[];
}

/**
 * Opens a page and collects what it complains of. @param expected a part of messages that are no faults, such as that of
 * a request which a test makes fail
 */
export async function openWatched(
  browser: Browser,
  options: BrowserContextOptions = {},
  expected?: string,
): Promise<WatchedPage> {
  const page = await openPage(browser, { viewport: { width: 1400, height: 900 }, ...options });
  const faults: string[] = [];
  const add = (text: string): void => {
    if (expected === undefined || !text.includes(expected)) faults.push(text);
  };
  page.on("pageerror", (error) => add(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") add(message.text());
  });
  return { page, faults, [Symbol.asyncDispose]: () => page.context().close() };
}

/** What the tests of a file use; the browser and the workspace are there once they run. */
export interface Visit {
  readonly folder: string;
  readonly browser: Browser;
  readonly workspace: Workspace;
}

/**
 * A browser, and a workspace over a lake, for the tests of a file, in a folder that is deleted after them.
 *
 * @param makeLake fills the lake. @default one of a small simulated market
 */
export function workspaceForFile(
  optionsIn: (folder: string) => WorkspaceOptions = () => ({}),
  makeLake: (folder: string) => Promise<Lake> = apiLake,
): Visit {
  const folder = mkdtempSync(join(tmpdir(), "barlake-page-"));
  const visit: { folder: string; browser?: Browser; workspace?: Workspace } = { folder };
  beforeAll(async () => {
    visit.browser = await openBrowser();
    const lake = await makeLake(join(folder, "lake"));
    visit.workspace = await startWorkspace(lake, { limits: PATIENT, ...optionsIn(folder) });
  });
  afterAll(async () => {
    await visit.browser?.close();
    await visit.workspace?.close();
    rmSync(folder, { recursive: true });
  });
  return visit as Visit;
}

/** What is serious against the accessibility of a page, light and dark. */
export async function seriousAgainst(page: Page): Promise<string[]> {
  const said: string[] = [];
  await page.evaluate(axe.source);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
    for (const { id, impact, nodes } of violations)
      if (impact === "serious" || impact === "critical")
        said.push(`${colorScheme} ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  }
  return said;
}
