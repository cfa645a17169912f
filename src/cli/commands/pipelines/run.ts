import { systemClock } from "../../../client/system-clock.js";
import { releaseAfter } from "../../../core/release-after.js";
import { loadPipeline } from "../../../jobs/pipeline/load-pipeline.js";
import { lastRuns } from "../../../jobs/run/report/run-history.js";
import { settleRun } from "../../../jobs/run/report/run-outcome.js";
import { type RunReport, runPipeline } from "../../../jobs/run/run-pipeline.js";
import { announce, type NotifyOptions, notifyOption, webhookOf } from "../../announce.js";
import type { Cli } from "../../cli.js";
import { exitOfRun } from "../../exit-codes.js";
import { type DemandOptions, demandOf, demandOptions } from "../../options/demand-options.js";
import { jsonOption, lakeOption, openLake, printJson } from "../../options/lake-option.js";
import { openService, type ServiceOptions, serviceOptions, withQuota } from "../../options/service-option.js";
import { usersPipelines } from "../../options/users-pipelines.js";
import { runSummary } from "../../reports/report-text.js";
import { progressView, showRun } from "../../text/progress.js";
import { paint } from "../../text/text.js";
import { printPlan } from "./plan.js";

interface Options extends ServiceOptions, DemandOptions, NotifyOptions {
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly compact: boolean;
}

export function addRun(cli: Cli): void {
  serviceOptions(
    demandOptions(cli.program.command("run"))
      .option("--dry-run", "print the plan and send nothing")
      .option(
        "--wait",
        "wait while another run asks for the same or uses the key (default: end, and say which)",
      )
      .option("--no-compact", "do not compact tables with many small files at the end"),
  )
    .addOption(notifyOption())
    .addOption(lakeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
Pipelines: reference, daily, minute, intraday, financials, or the path of a file of your own.
A pipeline of files needs no service and no key: it lands the files of a folder that are new or changed.
The key is read from BARLAKE_API_KEY; several processes may use it at a time if each has a --share. Several machines
divide it by themselves where they use one lake in a store, or one place that BARLAKE_KEYS_AT names. Its quota is learned
if --rpm does not give it, and is stored in the lake for the next run.
Exit codes: 0 complete, 1 partial, 2 wrong usage, 3 refused, 130 interrupted.

Examples:
  barlake run reference
  barlake run daily --symbols 600519.SH,AAPL.US --from 2020-01-01
  barlake run minute --universe SIM_CN_50 --from 2026-10-01
  barlake run minute --rpm 60 --share 0.5
  barlake run ./pipelines/mine.ts --dry-run`,
    )
    .action((name: string, options: Options) =>
      cli.action(async () => {
        const pipeline = await loadPipeline(name, usersPipelines());
        const demand = await demandOf(options);
        const lake = openLake(options);
        if (options.dryRun) return printPlan(pipeline, demand, lake, options);
        const webhook = webhookOf(pipeline, options);
        const service =
          pipeline.kind === "files"
            ? undefined
            : await openService(withQuota(options, pipeline.quota), lake, `run ${pipeline.name}`, {
                signal: cli.signal,
                maxWaitMs: options.wait ? Number.POSITIVE_INFINITY : 0,
              });
        const lost = service?.lost;
        const signal = lost === undefined ? cli.signal : AbortSignal.any([cli.signal, lost]);
        const previous =
          webhook === undefined ? undefined : (await lastRuns(lake, demand)).get(pipeline.name);
        const view = options.json && process.stderr.isTTY ? undefined : progressView(pipeline.name);
        const runOnce = async (): Promise<number> => {
          const onProgress = showRun(view, pipeline.kind === "files" ? "files" : "requests");
          const waits = options.wait === true;
          const asked = service && { client: service.client, limits: service.limits };
          const compacts = options.compact;
          const environment = { lake, ...asked, clock: systemClock, signal, onProgress, waits, compacts };
          const run = (): Promise<RunReport> => runPipeline(pipeline, demand, environment);
          const settled = await settleRun(pipeline.name, systemClock, run);
          view?.stop();
          if (lost?.aborted) throw lost.reason;
          if (settled.kind === "reported") {
            if (options.json) printJson(settled.report);
            else process.stdout.write(`${runSummary(settled.report, options.lake)}\n`);
          }
          const fault = await announce(webhook, pipeline, settled.outcome, previous?.status, cli.signal);
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
      }),
    );
}
