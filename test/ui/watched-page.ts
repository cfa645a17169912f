import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openPage } from "./open-browser.js";

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
