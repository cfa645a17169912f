import { randomBytes } from "node:crypto";
import { TZDate } from "@date-fns/tz";
import { format } from "date-fns";
import type { ServiceClient } from "../../client/service-client.js";
import { BarlakeError, messageOf, UsageError } from "../../core/errors.js";
import { REGIONS, type Region } from "../../core/exchange.js";
import { parseSymbol, regionOf } from "../../core/symbol.js";
import type { Clock } from "../../core/time.js";
import { parquetRelation } from "../../db/parquet-relation.js";
import { literalList } from "../../db/quote.js";
import { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { publish } from "../../lake/publish.js";
import { openRejects, type RejectCount, saveRejects } from "../../lake/rejects.js";
import type { LandReport } from "../../lake/upsert.js";
import type { RequestUnit } from "../../plan/request-units.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../schema/reference.js";
import type { RunStatus } from "../../schema/runs.js";
import type { Pipeline } from "../pipeline.js";
import { type BarsDemand, ingestBars, planBars } from "./ingest-bars.js";
import { ingestIntraday } from "./ingest-intraday.js";
import { ingestReference } from "./ingest-reference.js";
import { ingestStatements } from "./ingest-statements.js";
import { type Progress, Run } from "./run.js";
import { recordRun } from "./run-record.js";

/** What the caller may say beside the pipeline's definition. */
export interface RunOptions {
  /** First date, instead of the pipeline's own. */
  readonly from?: string | undefined;
  /** Date after the last one. @default everything so far */
  readonly to?: string | undefined;
  /** Symbols, instead of the lake's instruments. */
  readonly symbols?: readonly string[] | undefined;
  /** Ids of universes whose members (or which, for intraday) are asked for. */
  readonly universes?: readonly string[] | undefined;
  /** Regions, instead of the pipeline's own. */
  readonly regions?: readonly Region[] | undefined;
}

/** What a run asked, got, landed and left. */
export interface RunReport {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly requests: Readonly<Run["requests"]>;
  readonly rows: number;
  readonly bytes: number;
  readonly durationMs: number;
  readonly landed: readonly LandReport[];
  readonly rejected: readonly RejectCount[];
  readonly failures: Run["failures"];
  /** Why the run stopped before its end, where it did. */
  readonly stopped: string | undefined;
}

export interface RunEnvironment {
  readonly lake: Lake;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * Runs a pipeline: asks for what the ledger does not have, lands it, and lays the views anew.
 *
 * @throws {UsageError} for a pipeline that lacks what it needs (instruments, say); {@link LakeError} for a broken lake.
 */
export async function runPipeline(
  pipeline: Pipeline,
  options: RunOptions,
  environment: RunEnvironment,
): Promise<RunReport> {
  const { lake, client, clock } = environment;
  const signal = environment.signal ?? new AbortController().signal;
  using session = await Session.open({ spillUnder: lake.stagingFolder });
  await openRejects(session);
  const run = new Run({
    lake,
    session,
    client,
    clock,
    runId: newRunId(clock.now()),
    pipeline: pipeline.name,
    signal,
    onProgress: environment.onProgress ?? (() => {}),
  });
  let failed: unknown;
  const record = (): Promise<void> => recordRun(run, report(run, failed), options, client.host);
  try {
    await execute(run, pipeline, demandOf(pipeline, options));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    run.forgetUnlanded();
    if (!signal.aborted) failed = error;
  }
  try {
    await run.landLedger();
    run.rejects = await saveRejects(session, lake, run.runId);
    await record();
    if (run.landed.some((one) => one.inserted + one.updated > 0) || run.requests.sent > 0) {
      run.doing("views");
      await publish(lake);
    }
  } catch (error) {
    failed ??= error;
    await record().catch(() => {});
  }
  if (failed !== undefined && !(failed instanceof BarlakeError)) throw failed;
  return report(run, failed);
}

/** Plans a pipeline of bars without asking for anything; undefined for other kinds, whose requests follow from answers. */
export async function planPipeline(
  pipeline: Pipeline,
  options: RunOptions,
  { lake, clock }: Pick<RunEnvironment, "lake" | "clock">,
): Promise<readonly RequestUnit[] | undefined> {
  if (pipeline.kind !== "bars") return undefined;
  using session = await Session.open();
  return await planBars(
    { session, lake, clock },
    await barsDemand(session, lake, pipeline, demandOf(pipeline, options)),
  );
}

/** A name for a run that sorts by time and is unique among machines. */
export function newRunId(now: number): string {
  return `${format(new TZDate(now, "UTC"), "yyyyMMdd'T'HHmmss'Z'")}-${randomBytes(3).toString("hex")}`;
}

/** What is asked for: as the caller says, and where it says nothing, as the pipeline does. */
function demandOf(pipeline: Pipeline, options: RunOptions): RunOptions {
  const { symbols, universes } =
    "symbols" in pipeline ? pipeline : { symbols: undefined, universes: undefined };
  const which = options.symbols || options.universes ? {} : { symbols, universes };
  return { ...options, ...which, to: options.to ?? (pipeline.kind === "bars" ? pipeline.to : undefined) };
}

async function execute(run: Run, pipeline: Pipeline, options: RunOptions): Promise<void> {
  switch (pipeline.kind) {
    case "reference":
      return ingestReference(run, pipeline.refreshHours);
    case "bars":
      return ingestBars(run, await barsDemand(run.session, run.lake, pipeline, options));
    case "intraday":
      return ingestIntraday(run, options.universes ?? pipeline.universes);
    case "statements": {
      const { tables, refreshHours } = pipeline;
      const symbols = await chooseSymbols(
        run.session,
        run.lake,
        options.regions ?? pipeline.regions,
        ["stock"],
        options,
      );
      return ingestStatements(run, { tables, refreshHours, symbols });
    }
  }
}

async function barsDemand(
  session: Session,
  lake: Lake,
  pipeline: Pipeline & { readonly kind: "bars" },
  options: RunOptions,
): Promise<BarsDemand> {
  const { period, types } = pipeline;
  const symbols = await chooseSymbols(session, lake, options.regions ?? pipeline.regions, types, options);
  return { period, from: options.from ?? pipeline.from, to: options.to, symbols };
}

/** The symbols of a run by region: those named, or members of universes, or the lake's instruments. */
async function chooseSymbols(
  session: Session,
  lake: Lake,
  regions: readonly Region[],
  types: readonly string[],
  { symbols, universes }: RunOptions,
): Promise<Map<Region, string[]>> {
  if (symbols) return byRegion(symbols.map(parseSymbol), Object.keys(REGIONS) as Region[]);
  if (universes) {
    const members = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSE_MEMBERS)));
    const rows = await session.json<{ symbol: string }>(
      `SELECT DISTINCT symbol FROM (${members}) WHERE valid_to IS NULL AND id IN (SELECT unnest(${literalList(universes)})) ORDER BY symbol`,
    );
    if (rows.length === 0) {
      throw new UsageError(`universe ${universes.join(", ")}: the lake knows no members`, {
        hint: 'run the pipeline reference first, and see: barlake sql "from universes"',
      });
    }
    return byRegion(
      rows.map((row) => row.symbol),
      Object.keys(REGIONS) as Region[],
    );
  }
  const instruments = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${instruments}) WHERE valid_to IS NULL AND type IN (SELECT unnest(${literalList(types)})) ORDER BY symbol`,
  );
  if (rows.length === 0) {
    throw new UsageError("the lake knows no instruments to ask for", {
      hint: "run the pipeline reference first, or name symbols with --symbols",
    });
  }
  return byRegion(
    rows.map((row) => row.symbol),
    regions,
  );
}

function byRegion(symbols: readonly string[], regions: readonly Region[]): Map<Region, string[]> {
  const groups = new Map<Region, string[]>();
  for (const symbol of symbols) {
    const region = regionOf(symbol);
    if (region === undefined || !regions.includes(region)) continue;
    const group = groups.get(region);
    if (group) group.push(symbol);
    else groups.set(region, [symbol]);
  }
  return groups;
}

function report(run: Run, failed: unknown): RunReport {
  const { answered, empty, refused } = run.requests;
  const bad = run.failures.length > 0 || run.stopped !== undefined;
  let status: RunStatus = bad ? "partial" : "complete";
  if (bad && answered + empty === 0) status = refused > 0 ? "refused" : "failed";
  if (failed !== undefined) status = "failed";
  if (run.signal.aborted) status = "interrupted";
  return {
    runId: run.runId,
    pipeline: run.pipeline,
    status,
    requests: run.requests,
    rows: run.rows,
    bytes: run.bytes,
    durationMs: run.clock.now() - run.startedAt,
    landed: totals(run.landed),
    rejected: run.rejects,
    failures: run.failures,
    stopped: failed === undefined ? run.stopped : reasonOf(failed),
  };
}

function reasonOf(error: unknown): string {
  const hint = error instanceof BarlakeError ? error.hint : undefined;
  return hint === undefined ? messageOf(error) : `${messageOf(error)}; ${hint}`;
}

/** One line a table, whatever number of landings it took. */
function totals(landed: readonly LandReport[]): LandReport[] {
  const tables = new Map<string, LandReport>();
  for (const one of landed) {
    const sum = tables.get(one.table);
    tables.set(
      one.table,
      sum === undefined
        ? one
        : {
            table: one.table,
            inserted: sum.inserted + one.inserted,
            updated: sum.updated + one.updated,
            unchanged: sum.unchanged + one.unchanged,
            sample: sum.sample.length > 0 ? sum.sample : one.sample,
            filesAdded: sum.filesAdded + one.filesAdded,
            version: one.version,
          },
    );
  }
  return [...tables.values()];
}
