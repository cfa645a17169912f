import { systemClock } from "../../../client/system-clock.js";
import { messageOf, UsageError } from "../../../core/errors.js";
import { releaseAfter } from "../../../core/release-after.js";
import { dailyScrub } from "../../../jobs/maintenance/scrub-lake.js";
import { dailyVacuum } from "../../../jobs/maintenance/vacuum-lake.js";
import type { Pipeline } from "../../../jobs/pipeline/definition.js";
import { loadPipeline, ownPipelines, pipelineFiles } from "../../../jobs/pipeline/load-pipeline.js";
import { damageNotice, type Notice, sendNotice, testNotice } from "../../../jobs/run/report/notify.js";
import { lastRuns } from "../../../jobs/run/report/run-history.js";
import { type RunReport, runPipeline } from "../../../jobs/run/run-pipeline.js";
import { Leadership } from "../../../jobs/schedule/leadership.js";
import { scheduleMetrics, startMonitor } from "../../../jobs/schedule/monitor.js";
import { catchUpWith, initialStates } from "../../../jobs/schedule/pipeline-state.js";
import {
  runDue,
  runSchedule,
  type ScheduleEnvironment,
  type ScheduleEvent,
} from "../../../jobs/schedule/run-schedule.js";
import { type Lake, replacedText } from "../../../lake/lake.js";
import { type Cli, EXIT, exitOfRun } from "../../cli.js";
import { reloadKey } from "../../load-settings.js";
import { lakeOption, openLake } from "../../options/lake-option.js";
import { portOption, retentionOption, usersPipelines } from "../../options/options.js";
import {
  checkService,
  openService,
  type ServiceOptions,
  serviceOptions,
  withQuota,
} from "../../options/service-option.js";
import { progressView, showRun } from "../../progress.js";
import { scheduleLog } from "../../reports/schedule-log.js";
import { paint } from "../../text.js";
import { scheduleDays } from "./pipelines.js";
import { announce, type NotifyOptions, notifyOption, webhookOf } from "./run.js";

interface Options extends ServiceOptions, NotifyOptions {
  readonly once?: boolean;
  readonly catchUp: boolean;
  readonly compact: boolean;
  readonly vacuum: boolean;
  /** Milliseconds. */
  readonly retention: number;
  readonly scrub: boolean;
  readonly testNotify?: boolean;
  readonly metricsPort?: number;
  readonly metricsHost: string;
}

export function addSchedule(cli: Cli): void {
  serviceOptions(
    cli.program
      .command("schedule")
      .argument(
        "[pipelines...]",
        "names or files; without one, those of pipelines/ that have a schedule, and reference",
      )
      .option("--once", "run what is due now, then end: for cron")
      .option("--no-catch-up", "skip what was due in the last 24 hours and has not run")
      .option("--no-compact", "do not compact tables with many small files after a run")
      .option("--no-vacuum", "delete nothing that only old versions need")
      .addOption(retentionOption("old versions remain readable for this time, as 30d or 12h", "30d"))
      .option("--no-scrub", "do not verify a part of the lake each day (all of it in four weeks)")
      .addOption(notifyOption())
      .option("--test-notify", "send a test report to the webhook, say what came back, and end")
      .option("--metrics-port <n>", "serve /metrics and /healthz there; 0 takes a free port", portOption)
      .option("--metrics-host <address>", "address that the metrics are served on", "127.0.0.1"),
  )
    .addOption(lakeOption())
    .notes(`
Without names, in a project without pipelines of its own, all that come with barlake run.
Pipelines run one after the other, at their times in the zone of their exchange; barlake pipelines shows the times.
SIGTERM or Ctrl-C ends the current run; what it received is not lost. Without a terminal, the output is JSON lines.
Of several schedules over one lake, on any machines, one leads each pipeline; the others are on standby for it, until the
leader ends or gives no sign of life for 30 s.
Once a day, when nothing is due, files and entries of the logs that only versions older than the retention need are deleted,
as by barlake vacuum, and a part of the lake's files is compared with what was written: all within four weeks.
Exit code: 0 when it is stopped; with --once that of the worst run, and at least 1 if a file is damaged.

Examples:
  barlake schedule
  barlake schedule reference daily ./pipelines/mine.ts --metrics-port 9464
  barlake schedule --once                    every few minutes, by cron
  barlake schedule --test-notify             is the webhook of BARLAKE_WEBHOOK right?`)
    .does((names: readonly string[], options: Options) => schedule(cli, names, options));
}

async function schedule(cli: Cli, names: readonly string[], options: Options): Promise<number> {
  const { pipelines, leftOut } = await scheduled(names);
  const webhooks = new Map(pipelines.map((pipeline) => [pipeline.name, webhookOf(pipeline, options)]));
  if (options.testNotify) return await testWebhooks(webhooks, cli.signal);
  if (pipelines.some(({ kind }) => kind !== "files")) checkService(options);
  const lake = openLake(options);
  const catchUp = { missed: options.catchUp, neverRun: options.once === true };
  const startedAt = systemClock.now();
  const states = initialStates(pipelines, await lastRuns(lake), catchUp, startedAt);
  const days = await scheduleDays(lake);
  const { isTradingDay } = days;
  const log = scheduleLog();
  if (leftOut.length > 0)
    log.note({ pipelines: leftOut }, "not scheduled: they come with barlake, and run where they are named");
  lake.onReplaced((facts) => log.warn(facts, replacedText(facts)));
  const standbySince = new Map<string, number>();
  const leadership = new Leadership(lake, [...webhooks.keys()], {
    clock: systemClock,
    signal: cli.signal,
    async onLead(led) {
      const runs = await lastRuns(lake);
      for (const state of states.filter(({ pipeline }) => led.includes(pipeline.name))) {
        const since = standbySince.get(state.pipeline.name) ?? startedAt;
        catchUpWith([state], runs, catchUp, since, systemClock.now());
      }
      if (led.some((name) => standbySince.has(name))) log.note({ pipelines: led }, "leading");
      for (const name of led) standbySince.delete(name);
    },
    onStandby(led, leader) {
      for (const name of led) if (!standbySince.has(name)) standbySince.set(name, startedAt);
      log.note({ pipelines: led, leader }, options.once ? "another schedule leads" : "standing by");
    },
    onLost(lost) {
      for (const name of lost) standbySince.set(name, systemClock.now());
      log.note({ pipelines: lost }, "another schedule has taken over");
    },
    onFault: (error) => log.warn({ fault: messageOf(error) }, "the leases of the schedules cannot be read"),
  });
  const metrics = scheduleMetrics(states, systemClock, isTradingDay, leadership);

  let hasFailedScrub = false;
  const onEvent = async (event: ScheduleEvent): Promise<void> => {
    log.event(event);
    if (event.kind === "scrub failed") hasFailedScrub = true;
    if (event.kind === "scrubbed") {
      metrics.countScrub(event.report);
      if (event.report.damaged.length > 0) await notify(damageNotice(event.report, systemClock.now()));
    }
    if (event.kind !== "ended") return;
    const { pipeline, outcome, previous } = event;
    metrics.count(outcome);
    await days.reload();
    // The machine that leads it now runs it again, and reports that.
    if (!(await leadership.confirm(pipeline.name))) return;
    const webhook = webhooks.get(pipeline.name);
    reportLoss(pipeline.name, await announce(webhook, pipeline, outcome, previous?.status, cli.signal));
  };
  const notify = async (notice: Notice): Promise<void> => {
    for (const webhook of new Set(webhooks.values()))
      if (webhook !== undefined)
        reportLoss(notice.pipeline, await sendNotice(webhook, notice, { signal: cli.signal }));
  };
  const reportLoss = (pipeline: string, fault: string | undefined): void => {
    if (fault === undefined) return;
    metrics.countLostNotice();
    log.warn({ pipeline, fault }, "the webhook was not notified");
  };
  const environment: ScheduleEnvironment = {
    clock: systemClock,
    signal: cli.signal,
    isTradingDay,
    leading: leadership,
    run: async (pipeline) => {
      reloadKey(cli.settings);
      return await runOnce(pipeline, lake, options, {
        ended: AbortSignal.any([cli.signal, leadership.lostOf(pipeline.name)]),
        onNote: (text) => log.note({ pipeline: pipeline.name }, text),
      });
    },
    onEvent,
    vacuum: options.vacuum ? dailyVacuum(lake, options.retention, systemClock) : undefined,
    scrub: options.scrub ? dailyScrub(lake, systemClock) : undefined,
  };
  /** Where the lake cannot be reached, other schedules find out that this one has ended. */
  const resign = (): Promise<void> => leadership.close().catch(() => {});
  if (options.once) {
    const outcomes = await releaseAfter(async () => {
      await leadership.leadFree();
      const done = await runDue(states, environment);
      if (done.length === 0 && pipelines.some(({ name }) => leadership.leads(name)))
        log.note({}, "nothing is due");
      return done;
    }, resign);
    const isDamaged = hasFailedScrub || metrics.damagedFiles() > 0;
    return Math.max(isDamaged ? EXIT.partial : EXIT.done, ...outcomes.map(({ status }) => exitOfRun(status)));
  }
  const { metricsPort: port, metricsHost: host } = options;
  const monitor =
    port === undefined
      ? undefined
      : await startMonitor(states, {
          host,
          port,
          clock: systemClock,
          isTradingDay,
          metrics,
          leading: leadership,
        });
  if (monitor !== undefined) log.note({ url: monitor.url }, "metrics and health");
  try {
    await leadership.leadFree();
    leadership.watch();
    await runSchedule(states, environment);
  } catch (error) {
    if (!cli.signal.aborted) throw error;
  } finally {
    await resign();
    await monitor?.close();
  }
  log.note({}, "ended");
  return EXIT.done;
}

/** Sends a test report to each webhook, and prints what came back. @throws {UsageError} where there is none. */
async function testWebhooks(
  webhooks: ReadonlyMap<string, string | undefined>,
  signal: AbortSignal,
): Promise<number> {
  const found = new Set([...webhooks.values()].filter((webhook) => webhook !== undefined));
  if (found.size === 0)
    throw new UsageError("webhook: no pipeline has one", {
      hint: "set BARLAKE_WEBHOOK in .env, notify of a pipeline, or --notify",
    });
  let code: number = EXIT.done;
  for (const webhook of found) {
    const names = [...webhooks].flatMap(([name, its]) => (its === webhook ? [name] : []));
    const fault = await sendNotice(webhook, testNotice(systemClock.now()), { signal, retries: 0 });
    const said =
      fault === undefined
        ? `${paint("green", "accepted:")} webhook at ${new URL(webhook).host}`
        : `${paint("red", "not accepted:")} ${fault}`;
    process.stdout.write(`${said} (of ${names.join(", ")})\n`);
    if (fault !== undefined) code = EXIT.partial;
  }
  if (code !== EXIT.done)
    process.stdout.write(
      "check the whole address where it is set: --notify, notify of the pipeline, or BARLAKE_WEBHOOK\n",
    );
  return code;
}

interface Scheduled {
  readonly pipelines: readonly Pipeline[];
  /** Names of those that come with barlake, have a schedule, and are left out. */
  readonly leftOut: readonly string[];
}

/**
 * The pipelines to run. Without names: the project's own, and `reference`, from whose lists those of a service choose; in a
 * project without its own, all that come with barlake.
 *
 * @throws {UsageError} if one has no schedule, or two have the same name.
 */
async function scheduled(names: readonly string[]): Promise<Scheduled> {
  const users = usersPipelines();
  const files = await pipelineFiles(users);
  const found = new Map<string, Pipeline>();
  for (const name of names.length > 0 ? names : files.keys()) {
    const pipeline = await loadPipeline(name, users);
    if (pipeline.schedule.length === 0) {
      if (names.length === 0) continue;
      throw new UsageError(`pipeline ${pipeline.name}: has no schedule`, {
        hint: 'give it one, such as schedule: { at: "18:30", region: "CN" }',
      });
    }
    if (found.has(pipeline.name)) {
      throw new UsageError(`pipeline ${pipeline.name}: is named twice`, {
        hint: "give each pipeline another name",
      });
    }
    found.set(pipeline.name, pipeline);
  }
  const all = [...found.values()];
  const builtIn = new Set((await ownPipelines()).values());
  const own = all.filter(({ name }) => !builtIn.has(files.get(name) ?? ""));
  if (names.length > 0 || own.length === 0) return { pipelines: all, leftOut: [] };
  const asksService = own.some(({ kind }) => kind !== "files");
  const pipelines = all.filter((one) => own.includes(one) || (asksService && one.name === "reference"));
  return {
    pipelines,
    leftOut: [...found.keys()].filter((name) => !pipelines.some((one) => one.name === name)),
  };
}

async function runOnce(
  pipeline: Pipeline,
  lake: Lake,
  options: Options,
  { ended, onNote }: { readonly ended: AbortSignal; readonly onNote: (text: string) => void },
): Promise<RunReport> {
  if (pipeline.kind === "files") {
    const view = progressView(pipeline.name, "json");
    const onProgress = showRun(view, "files");
    return runPipeline(
      pipeline,
      {},
      { lake, clock: systemClock, signal: ended, onProgress, compacts: options.compact },
    ).finally(() => view.stop());
  }
  const quota = withQuota(options, pipeline.quota);
  const service = await openService(quota, lake, `schedule ${pipeline.name}`, onNote);
  const { client, limits, lost } = service;
  const signal = AbortSignal.any([ended, lost]);
  const view = progressView(pipeline.name, "json");
  const run = async (): Promise<RunReport> => {
    const onProgress = showRun(view);
    const places = { lake, client, limits, clock: systemClock, signal, onProgress };
    const environment = { ...places, compacts: options.compact };
    const report = await runPipeline(pipeline, {}, environment);
    if (lost.aborted) throw lost.reason;
    return report;
  };
  return releaseAfter(
    run,
    async () => view.stop(),
    () => service.close(),
  );
}
