import { type Browser, chromium } from "playwright-core";
import { CHROMIUM } from "../notebook/chromium.js";

/** Starts a browser that reaches no network but this machine. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ],
  });
}
