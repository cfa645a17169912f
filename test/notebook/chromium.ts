import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { temporaryFolder } from "../lake/temporary-lake.js";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Whether there is a browser to look at pages with; where not, the console says so. */
export function hasChromium(): boolean {
  const isThere = existsSync(CHROMIUM);
  if (!isThere) console.warn(`skipped: no browser at ${CHROMIUM}; set CHROMIUM to one`);
  return isThere;
}

/** A page as a browser has it once its scripts have run. */
export interface SeenPage {
  readonly dom: string;
  /** Messages on its console: errors, and what its policy forbade. */
  readonly console: readonly string[];
}

/** Opens a file in a browser that reaches no network. */
export function openPage(file: string): SeenPage {
  const { stdout, stderr, status } = spawnSync(
    CHROMIUM,
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--enable-logging=stderr",
      "--host-resolver-rules=MAP * ~NOTFOUND",
      "--window-size=1200,2000",
      `--user-data-dir=${join(temporaryFolder(), "profile")}`,
      "--virtual-time-budget=3000",
      "--dump-dom",
      pathToFileURL(file).href,
    ],
    { encoding: "utf8", maxBuffer: 2 ** 28 },
  );
  if (status !== 0) throw new Error(`the browser ended with ${status}: ${stderr}`);
  return { dom: stdout, console: stderr.split("\n").filter((line) => line.includes(":CONSOLE")) };
}

/** How often a page's elements begin so. */
export function countOf(dom: string, beginning: string): number {
  return dom.split(beginning).length - 1;
}
