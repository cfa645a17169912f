import { Option } from "commander";
import { UsageError } from "../core/errors.js";
import { NOTIFIED_STATUSES, type Pipeline } from "../jobs/pipeline/definition.js";
import { noticeOf, sendNotice } from "../jobs/run/report/notify.js";
import type { RunOutcome } from "../jobs/run/report/run-outcome.js";
import type { RunStatus } from "../schema/runs.js";

/** The values of {@link notifyOption}. */
export interface NotifyOptions {
  readonly notify?: string;
}

/** `--notify URL`. */
export function notifyOption(): Option {
  return new Option(
    "--notify <url>",
    "webhook for runs that are not complete; set by BARLAKE_WEBHOOK, it is in no process list",
  );
}

/**
 * The webhook for reports on a pipeline's runs: given by the option, the pipeline, or the environment.
 *
 * @throws {UsageError} if it names a variable that is not set, or is no address. No message contains the address.
 */
export function webhookOf(pipeline: Pipeline, { notify }: NotifyOptions): string | undefined {
  const given = notify ?? pipeline.notify?.webhook ?? process.env.BARLAKE_WEBHOOK;
  const name = given?.startsWith("env:") ? given.slice("env:".length) : undefined;
  const webhook = name === undefined ? given : process.env[name];
  if (name !== undefined && !webhook)
    throw new UsageError(`webhook of ${pipeline.name}: the environment has no ${name}`, {
      hint: `set ${name}; of .env only names that begin with BARLAKE_ or AWS_ are taken`,
    });
  if (!webhook) return undefined;
  if (URL.canParse(webhook) && /^https?:$/.test(new URL(webhook).protocol)) return webhook;
  throw new UsageError(`webhook of ${pipeline.name}: is not an http or https address`, {
    hint: "it comes from --notify, the pipeline's notify, or BARLAKE_WEBHOOK",
  });
}

/**
 * Sends the result of a run to the webhook, if the pipeline's settings ask for it.
 *
 * @param previous status of the previous run.
 * @returns why the notice failed; undefined if it was sent, or none was due.
 */
export async function announce(
  webhook: string | undefined,
  pipeline: Pipeline,
  outcome: RunOutcome,
  previous: RunStatus | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (webhook === undefined || signal.aborted) return undefined;
  const notice = noticeOf(outcome, pipeline.notify?.on ?? NOTIFIED_STATUSES, previous);
  return notice === undefined ? undefined : sendNotice(webhook, notice, { signal });
}
