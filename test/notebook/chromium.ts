import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
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

/** How much wider a page is than a frame of 390 pixels, and which of its elements scroll sideways. */
export function narrowPage(page: string): { readonly excess: number; readonly scrolled: readonly string[] } {
  const file = join(temporaryFolder(), "frame.html");
  const srcdoc = page.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  writeFileSync(
    file,
    `<!doctype html><iframe width="390" height="2000" style="border: 0" srcdoc="${srcdoc}"></iframe><pre></pre><script>
const measure = () => {
  const { document, getComputedStyle } = frames[0];
  const scrolled = [...document.querySelectorAll("body *")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto")
    .map(({ tagName }) => tagName);
  const { scrollWidth, clientWidth } = document.documentElement;
  const excess = scrollWidth - clientWidth;
  window.document.querySelector("pre").textContent = JSON.stringify({ excess, scrolled });
};
// On a busy machine no frame may be drawn before the browser's virtual time is over: only timers are sure to run.
onload = () => {
  measure();
  setTimeout(measure, 1000);
};
</script>`,
  );
  const [, found = "null"] = /<pre>(.*?)<\/pre>/s.exec(openPage(file).dom.split("</iframe>")[1] ?? "") ?? [];
  return JSON.parse(found);
}

/** How often a page's elements begin so. */
export function countOf(dom: string, beginning: string): number {
  return dom.split(beginning).length - 1;
}
