import { onTestFinished } from "vitest";
import { openScripted, type Script, type ScriptedService } from "./scripted-server.js";

export {
  cutAfter,
  html,
  json,
  type Script,
  type ScriptedService,
  type Seen,
  truncated,
} from "./scripted-server.js";

/** A scripted service that stops at the end of the test. */
export async function startScripted(script: Script): Promise<ScriptedService> {
  const service = await openScripted(script);
  onTestFinished(() => service.close());
  return service;
}
