import { randomBytes } from "node:crypto";
import { ClockAheadError, type ServiceClient } from "../../client/service-client.js";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { firstOf, throwAfter } from "../../core/release-after.js";
import type { Clock } from "../../core/time.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { Rejects } from "../../lake/land/rejects.js";
import { CALENDAR_SYMBOLS } from "../../lake/land/trading-days.js";
import { type FreeBytes, freeBytesOf } from "../../lake/local/free-space.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import { publish } from "../../lake/publish.js";
import { type EndedRun, takeRun } from "../../lake/requests/run-lease.js";
import type { LimitsStore } from "../../lake/requests/service-limits.js";
import { OWN_SESSIONS, REGIONS } from "../../market/regions.js";
import { exchangeOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import type { RequestUnit } from "../../plan/request-units.js";
import { type BarsDemand, planBarRequests, plannedCap, readPlanFacts } from "../ingest/bars/bars-demand.js";
import { ingestBars } from "../ingest/bars/ingest-bars.js";
import { ingestIntraday } from "../ingest/bars/ingest-intraday.js";
import {
  chooseSymbols,
  leavingTimes,
  noteEndedUniverses,
  noteUnknown,
  type OnUnknown,
} from "../ingest/choose-symbols.js";
import { ingestExFactors, planExFactors } from "../ingest/ingest-ex-factors.js";
import { ingestReference } from "../ingest/ingest-reference.js";
import { ingestStatements } from "../ingest/statements/ingest-statements.js";
import { coverageFacts } from "../ledger/lake-coverage.js";
import { compactAfterRun } from "../maintenance/optimize-lake.js";
import type { Pipeline } from "../pipeline/definition.js";
import { recoverResponses } from "../recover-responses.js";
import { runLists } from "./report/completeness.js";
import { type Progress, RunProgress } from "./report/run-progress.js";
import { changesOf, recordEnded, recordKilled, recordRun } from "./report/run-record.js";
import { type RunReport, reportOf } from "./report/run-report.js";
import { RequestSizeLimits } from "./request/request-size-limits.js";
import { closeRun, openRun, type Run } from "./run.js";
import type { RunContext } from "./run-context.js";
import { demandOf, inOneLake, type RunOptions, runSubject, runTables } from "./run-demand.js";

export type { RunOptions, RunReport };

/** What a run needs: the lake, the client of the service, the clock. */
export interface RunEnvironment {
  readonly lake: Lake;
  /** The client of the service; a pipeline of files needs none. */
  readonly client?: ServiceClient | undefined;
  /** Known limits of the service, and a function that records learned limits. @default none known, none recorded */
  readonly limits?: Pick<LimitsStore, "limits" | "learn">;
  readonly clock: Clock;
  /** Ends the run after the current step. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Returns the free bytes of the lake's disk. @default asks the file system */
  readonly freeBytes?: FreeBytes;
  /** Whether tables with many small files are compacted at the end. @default true */
  readonly compacts?: boolean;
}

/** Most starts of a run. It starts again if its clock is ahead: once, unless responses state different times. */
const MOST_STARTS = 3;

/**
 * Runs a pipeline: requests the data that the ledger does not record, lands it, and creates the views again. Where this
 * machine's clock is ahead of the service's by up to a day, the run begins again and uses the service's time. Tables of the
 * run that have many small files are compacted at its end. While another run on the lake, possibly on another machine,
 * requests some of the same, it waits.
 *
 * @throws {UsageError} where the lake lacks data that the pipeline needs, for example instruments; {@link LakeError}
 *   for a broken lake; the signal's reason where it aborts while the run waits for another one.
 */
export async function runPipeline(
  pipeline: Pipeline,
  options: RunOptions,
  environment: RunEnvironment,
): Promise<RunReport> {
  const report = await runToEnd(pipeline, options, environment);
  const { lake, clock, signal, onProgress, compacts = true } = environment;
  // A run that has failed, for example because its disk is full or another machine has taken over, changes nothing more.
  if (!compacts || report.status === "failed" || report.status === "interrupted") return report;
  const progress = new RunProgress(onProgress ?? (() => {}));
  const compaction = await compactAfterRun(lake, runTables(pipeline), clock, {
    runId: newRunId(clock.now()),
    signal,
    onProgress: ({ table, partition }) => progress.doing(`compacting ${table} ${partition}`),
  });
  return compaction === undefined ? report : { ...report, compaction };
}

async function runToEnd(
  pipeline: Pipeline,
  options: RunOptions,
  environment: RunEnvironment,
): Promise<RunReport> {
  const { client, lake, clock, signal, onProgress } = environment;
  const demand = demandOf(pipeline, options);
  if (pipeline.kind === "files") {
    const { runFiles } = await import("../files/run-files.js");
    return runFiles(pipeline, options, {
      lake,
      clock,
      signal,
      onProgress,
      runId: newRunId(clock.now()),
    });
  }
  if (client === undefined)
    throw new UsageError(`run ${pipeline.name}: needs a service`, { hint: "name the one that it asks" });
  let aheadMs = 0;
  for (let starts = 1; ; starts++) {
    client.acceptClockAhead(aheadMs);
    const { report, failed } = await runOnce(
      pipeline,
      { options, demand },
      { ...environment, client },
      aheadMs,
    );
    if (!(failed instanceof ClockAheadError) || !failed.isUsable || starts === MOST_STARTS) return report;
    aheadMs = failed.aheadMs;
  }
}

type ServiceEnvironment = RunEnvironment & { readonly client: ServiceClient };
type ServicePipeline = Exclude<Pipeline, { readonly kind: "files" }>;

interface RunDemand {
  readonly options: RunOptions;
  readonly demand: RunOptions;
}

/** Runs a pipeline once. @returns its report, and the error that ended it, if any. */
async function runOnce(
  pipeline: ServicePipeline,
  given: RunDemand,
  environment: ServiceEnvironment,
  clockAheadMs: number,
): Promise<{ readonly report: RunReport; readonly failed: unknown }> {
  const { lake, clock } = environment;
  const signal = environment.signal ?? new AbortController().signal;
  const runId = newRunId(clock.now());
  const killed: EndedRun[] = [];
  const progress = new RunProgress(environment.onProgress ?? (() => {}));
  const lease = await takeRun(
    lake,
    {
      ...runSubject(pipeline, given.options),
      runId,
      service: environment.client.host,
      options: jsonParameter(given.options),
    },
    {
      clock,
      signal,
      onWait: (holders) => progress.doing(`waiting for ${holders}`),
      onEnded: async (run) => {
        await recordEnded(lake, clock, run);
        killed.push(run);
      },
    },
  );
  try {
    using fence = await inOneLake(lake, runTables(pipeline), lease);
    return await runLeased(pipeline, given, environment, { runId, signal, clockAheadMs, fence, killed });
  } finally {
    // If the release fails, the lease remains until it expires.
    await lease.release().catch(() => {});
  }
}

async function runLeased(
  pipeline: ServicePipeline,
  { options, demand }: RunDemand,
  environment: ServiceEnvironment,
  {
    clockAheadMs,
    killed,
    ...leased
  }: Pick<RunContext, "runId" | "signal" | "fence"> & {
    readonly clockAheadMs: number;
    readonly killed: readonly EndedRun[];
  },
): Promise<{ readonly report: RunReport; readonly failed: unknown }> {
  const { lake, client, clock } = environment;
  const { runId, signal } = leased;
  using session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
  const parts = {
    ...leased,
    lake,
    session,
    rejects: new Rejects(session, runId),
    client,
    clock,
    pipeline: pipeline.name,
    tables: runTables(pipeline),
    limits: new RequestSizeLimits(environment.limits?.limits, (facts) => environment.limits?.learn(facts)),
    freeBytes: environment.freeBytes ?? freeBytesOf,
    ...(clockAheadMs > 0 && { clockAheadMs }),
  };
  const run = openRun(parts, environment.onProgress ?? (() => {}));
  const { context, log } = run;
  let failed: unknown;
  const report = (): RunReport => reportOf(context, log.facts(), run.progress.planned, failed);
  const record = (): Promise<void> => recordRun(context, report(), options, client.host);
  try {
    await recoverResponses(run);
    // With what has landed of their responses.
    for (const one of killed) await run.exclusive(() => recordKilled(context, one));
    await execute(run, pipeline, demand);
  } catch (error) {
    if (error instanceof UsageError) return throwAfter(error, () => closeRun(run));
    if (!signal.aborted) failed = error;
  }
  try {
    await run.exclusive(() => run.ledger.land());
    log.ended({ rejected: await context.rejects.save(lake) });
    await record();
    const { landed, requests } = log.facts();
    if (landed.some((one) => one.inserted + one.updated > 0) || requests.sent > 0) {
      run.progress.doing("views");
      await publish(lake);
      log.ended({ changes: await changesOf(context, landed) });
    }
    log.ended({ lists: await runLists(context, pipeline, demand) });
  } catch (error) {
    failed = failed === undefined ? error : firstOf([failed, error]);
    await record().catch(() => {});
  }
  await closeRun(run).catch((error: unknown) => {
    failed = failed === undefined ? error : firstOf([failed, error]);
  });
  if (failed !== undefined && !(failed instanceof BarlakeError)) throw failed;
  return { report: report(), failed };
}

/** A request that a run would send, and the table in which its response would land. */
export interface PlannedRequest extends RequestUnit {
  readonly dataset: "bars_1d" | "bars_1m" | "ex_factors";
}

/** Plans a pipeline of bars without a request; undefined for other kinds, whose requests depend on responses. */
export async function planPipeline(
  pipeline: Pipeline,
  options: RunOptions,
  { lake, clock, limits: known }: Pick<RunEnvironment, "lake" | "clock" | "limits">,
): Promise<readonly PlannedRequest[] | undefined> {
  if (pipeline.kind !== "bars") return undefined;
  using session = await Session.open(lake.access);
  const limits = new RequestSizeLimits(known?.limits);
  const planned: PlannedRequest[] = [];
  for (const demand of await barsDemands({ session, lake, clock }, pipeline, demandOf(pipeline, options))) {
    const facts = await readPlanFacts({ session, lake, clock }, demand);
    const rowCap = plannedCap(demand.period, limits.rowCap(demand.period));
    const symbolsPerRequest = limits.symbolsPerRequest("klines");
    const units = planBarRequests(demand, facts, { rowCap, symbolsPerRequest });
    const dataset = demand.period === "1d" ? "bars_1d" : "bars_1m";
    planned.push(...units.map((unit) => ({ ...unit, dataset }) as const));
    const factors = planExFactors(demand, facts, limits);
    planned.push(...factors.units.map((unit) => ({ ...unit, dataset: "ex_factors" }) as const));
  }
  return planned;
}

/** A run id that sorts by time and is unique among machines. */
export function newRunId(now: number): string {
  return `${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "")}-${randomBytes(3).toString("hex")}`;
}

async function execute(run: Run, pipeline: ServicePipeline, options: RunOptions): Promise<void> {
  const universes =
    pipeline.kind === "intraday" ? (options.universes ?? pipeline.universes) : options.universes;
  if (universes !== undefined && !options.repair) await noteEndedUniverses(run, universes);
  const onUnknown: OnUnknown = (symbols, list) => noteUnknown(run, symbols, list);
  switch (pipeline.kind) {
    case "reference":
      return ingestReference(run, pipeline.refreshHours);
    case "bars":
      for (const demand of await barsDemands(run.context, pipeline, options, onUnknown)) {
        const facts = await ingestBars(run, demand);
        if (demand.exFactors) await ingestExFactors(run, demand, facts);
      }
      return;
    case "intraday":
      return ingestIntraday(run, options.universes ?? pipeline.universes);
    case "statements": {
      const { tables, refreshHours } = pipeline;
      const symbols = await chooseSymbols(
        run.context.session,
        run.context.lake,
        options.regions ?? pipeline.regions,
        ["stock"],
        { ...options, withoutExchanges: pipeline.withoutExchanges, onUnknown },
      );
      return ingestStatements(run, { tables, refreshHours, symbols });
    }
  }
}

/** The demands of a pipeline of bars: one, or, to repair, one for each region. */
async function barsDemands(
  parts: Pick<RunContext, "session" | "lake" | "clock">,
  pipeline: Pipeline & { readonly kind: "bars" },
  options: RunOptions,
  onUnknown?: OnUnknown,
): Promise<BarsDemand[]> {
  const { period, types, exFactors } = pipeline;
  const own = period === "1m" ? OWN_SESSIONS : [];
  const withoutExchanges = [...(pipeline.withoutExchanges ?? []), ...own];
  const refused = options.symbols?.find((symbol) => own.includes(exchangeOf(symbol)));
  if (refused !== undefined)
    throw new UsageError(
      `symbol ${refused}: minutes of its exchange cannot land, as its nights belong to the next trading date`,
      {
        hint: `its daily bars can; the sessions of ${own.join(", ")} are not known here`,
      },
    );
  const regions = options.regions ?? pipeline.regions;
  const lookback = pipeline.lookback === undefined ? 0 : Number.parseInt(pipeline.lookback, 10);
  if (!options.repair) {
    const extra = period === "1d" ? Object.values(CALENDAR_SYMBOLS).flat() : [];
    const { universes, symbols: named } = options;
    const choice = { ...options, extra, withoutExchanges, withFormer: true, onUnknown };
    const symbols = await chooseSymbols(parts.session, parts.lake, regions, types, choice);
    const lookbackDays = options.lookbackDays ?? lookback;
    const from = options.from ?? pipeline.from;
    // A named symbol is requested even if no list contains it.
    const endsAtDelisting = named === undefined;
    const leavingAt =
      named === undefined && universes ? await leavingTimes(parts.session, parts.lake, universes) : undefined;
    return [{ period, from, to: options.to, lookbackDays, symbols, exFactors, endsAtDelisting, leavingAt }];
  }
  const asked = await coverageFacts(parts, period);
  return [...asked]
    .filter(([region]) => regions.includes(region))
    .map(([region, { symbols, range, since }]) => ({
      period,
      from: localDate(range.start, REGIONS[region].zone),
      to: localDate(range.end, REGIONS[region].zone),
      symbols: new Map([[region, symbols.filter((one) => !withoutExchanges.includes(exchangeOf(one)))]]),
      exFactors,
      since,
      endsAtDelisting: true,
      allHoles: true,
    }));
}
