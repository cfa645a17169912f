import { Option } from "commander";
import { systemClock } from "../../../client/system-clock.js";
import { UsageError } from "../../../core/errors.js";
import { releaseAfter } from "../../../core/release-after.js";
import { NOTIFIED_STATUSES, type Pipeline } from "../../../jobs/pipeline/definition.js";
import { loadPipeline } from "../../../jobs/pipeline/load-pipeline.js";
import { noticeOf, sendNotice } from "../../../jobs/run/report/notify.js";
import { lastRuns, type RunOutcome, settleRun } from "../../../jobs/run/report/run-history.js";
import { type RunReport, runPipeline } from "../../../jobs/run/run-pipeline.js";
import type { RunStatus } from "../../../schema/runs.js";
import { type Cli, exitOfRun } from "../../cli.js";
import { jsonOption, lakeOption, openLake, printJson } from "../../options/lake-option.js";
import { usersPipelines } from "../../options/options.js";
import { openService, type ServiceOptions, serviceOptions, withQuota } from "../../options/service-option.js";
import { type DemandOptions, demandOf, demandOptions } from "../../options/symbols-option.js";
import { showRun, viewOf } from "../../progress.js";
import { runSummary } from "../../reports/report-text.js";
import { paint } from "../../text.js";
import { printPlan } from "./plan.js";

export interface NotifyOptions {
  readonly notify?: string;
}

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

interface Options extends ServiceOptions, DemandOptions, NotifyOptions {
  readonly dryRun?: boolean;
  readonly verbose?: boolean;
  readonly compact: boolean;
}

export function addRun(cli: Cli): void {
  serviceOptions(
    demandOptions(cli.program.command("run"))
      .option("--dry-run", "print the plan and send nothing")
      .option("-v, --verbose", "also say what was requested and received, and which rows landed and changed")
      .option("--no-compact", "do not compact tables with many small files at the end"),
  )
    .addOptions(notifyOption(), lakeOption(), jsonOption())
    .notes(`
Pipelines: reference, daily, minute, intraday, financials, or the path of a file of your own.
A pipeline of files needs no service and no key: it lands the files of a folder that are new or changed.
The key is read from BARLAKE_API_KEY. Processes that use it at the same time divide its quota: those of a user on this
machine, and several machines where they use one lake in a store, or one place that BARLAKE_KEYS_AT names. Its quota is
learned if --rpm does not give it, and is stored in the lake for the next run.
Exit codes: 0 complete, 1 partial, 2 wrong usage, 3 refused, 130 interrupted.

Examples:
  barlake run reference
  barlake run daily --symbols 600519.SH,AAPL.US --from 2020-01-01
  barlake run minute --universe SIM_CN_50 --from 2026-10-01
  barlake run minute --rpm 60 --share 0.5
  barlake run ./pipelines/mine.ts --dry-run`)
    .does(async (name: string, options: Options) => {
      const pipeline = await loadPipeline(name, usersPipelines());
      const demand = await demandOf(options);
      const lake = openLake(options);
      if (options.dryRun) return printPlan(pipeline, demand, lake, options);
      const webhook = webhookOf(pipeline, options);
      const service =
        pipeline.kind === "files"
          ? undefined
          : await openService(withQuota(options, pipeline.quota), lake, `run ${pipeline.name}`);
      const lost = service?.lost;
      const signal = lost === undefined ? cli.signal : AbortSignal.any([cli.signal, lost]);
      const previous = webhook === undefined ? undefined : (await lastRuns(lake, demand)).get(pipeline.name);
      const view = viewOf(pipeline.name, options);
      const runOnce = async (): Promise<number> => {
        const onProgress = showRun(view, pipeline.kind === "files" ? "files" : "requests");
        const asked = service && { client: service.client, limits: service.limits };
        const compacts = options.compact;
        const environment = { lake, ...asked, clock: systemClock, signal, onProgress, compacts };
        const run = (): Promise<RunReport> => runPipeline(pipeline, demand, environment);
        const settled = await settleRun(pipeline.name, systemClock, run);
        view?.stop();
        if (lost?.aborted) throw lost.reason;
        if (settled.kind === "reported") {
          if (options.json) printJson(settled.report);
          else process.stdout.write(`${runSummary(settled.report, options.lake, options.verbose)}\n`);
        }
        // A mistake in the command is for who typed it, and no news for the team.
        const isTyped = settled.kind === "threw" && settled.error instanceof UsageError;
        const fault = isTyped
          ? undefined
          : await announce(webhook, pipeline, settled.outcome, previous?.status, cli.signal);
        if (fault !== undefined)
          process.stderr.write(`${paint("yellow", "the webhook was not notified:")} ${fault}\n`);
        if (settled.kind === "threw") throw settled.error;
        return exitOfRun(settled.report.status);
      };
      return releaseAfter(
        runOnce,
        async () => view?.stop(),
        async () => service?.close(),
      );
    });
}
