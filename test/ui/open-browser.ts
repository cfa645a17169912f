import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { CHROMIUM } from "../notebook/chromium.js";

/** Ends a wait for something that does not come: well before the limit of a test. */
export const HANG_MS = 300_000;

/** Starts a browser that reaches no network but this machine. A busy machine may need more than a minute for it. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    timeout: HANG_MS,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ],
  });
}

/**
 * Opens a page in a context of its own; `page.context().close()` closes both. What a test waits for may take as long as a
 * busy machine needs.
 */
export async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(HANG_MS);
  return context.newPage();
}
