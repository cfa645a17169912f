import { systemClock } from "../../../client/system-clock.js";
import { BarlakeError } from "../../../core/errors.js";
import { type UnvouchedCloses, unvouchedCloses } from "../../../db/market/unvouched-closes.js";
import { type RefusedFile, refusedFiles } from "../../../jobs/files/landed-files.js";
import { type KnownList, knownLists } from "../../../jobs/ledger/known-lists.js";
import { lakeCoverage, type TableCoverage } from "../../../jobs/ledger/lake-coverage.js";
import { type LandedBars, landedBars } from "../../../jobs/ledger/landed-bars.js";
import { verifiedSince } from "../../../lake/files/verify-content.js";
import type { Lake } from "../../../lake/lake.js";
import type { Snapshot } from "../../../lake/log/snapshot.js";
import { openReader } from "../../../lake/open-reader.js";
import { EX_RULE_TABLES } from "../../../lake/segments/bar-reader.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../../schema/reference.js";
import type { RunStatus } from "../../../schema/runs.js";
import { type Cli, EXIT } from "../../cli.js";
import { inOptionWords } from "../../error-text.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
  reportMovedLake,
} from "../../options/lake-option.js";
import { type PointInTimeOptions, pointInTimeOf, pointInTimeOptions } from "../../options/options.js";
import { knownListLines } from "../../reports/report-text.js";
import { instantText } from "../../reports/schedule-log.js";
import { count, paint, plural, size, table } from "../../text.js";

interface TableRow {
  readonly name: string;
  readonly version: bigint;
  readonly files: bigint;
  readonly rows: bigint;
  readonly bytes: bigint;
  readonly committed_at: Date | null;
}

/** A table, and the time since which all its files are known to be intact; null if unknown. */
type StatusRow = TableRow & { readonly verified_at: Date | null };

interface RunRow {
  readonly run_id: string;
  readonly pipeline: string;
  readonly started_at: Date;
  /** Null of a run that goes on. */
  readonly status: RunStatus | null;
  readonly requests: bigint;
  readonly bad: bigint;
  readonly rows: bigint;
  readonly bytes: bigint;
}

export function addStatus(cli: Cli): void {
  cli.program
    .command("status")
    .addOptions(...pointInTimeOptions(), lakeOption(), jsonOption())
    .notes("\nExamples:\n  barlake status\n  barlake status --lake data/demo/lake --json")
    .does(async (options: CommonOptions & PointInTimeOptions) => {
      const lake = await openExistingLake(options);
      const { session, refused, snapshots } = await openReader(
        lake,
        { verify: false },
        pointInTimeOf(options),
      );
      using reader = session;
      await reportMovedLake(lake, session);
      const faults: Fault[] = refused.map(({ table: { name }, error }) => faultOf(name, error));
      // Tables that cannot be read are reported, and the others are shown.
      const readable = async <Row>(names: readonly string[], read: () => Promise<Row[]>): Promise<Row[]> => {
        if (faults.some(({ name }) => names.includes(name))) return [];
        return read().catch((error: unknown) => {
          if (!(error instanceof BarlakeError)) throw error;
          faults.push(faultOf(names[0] as string, error));
          return [];
        });
      };
      const found = await reader.json<TableRow>("SELECT * FROM raw.tables");
      const tables = await withVerification(lake, found, snapshots);
      const bars: LandedBars[] = [];
      for (const { name } of [BARS_1D, BARS_1M]) {
        const snapshot = snapshots.find(({ table: one }) => one.name === name);
        if (snapshot !== undefined)
          bars.push(...(await readable([name], () => landedBars(reader, lake, snapshot, systemClock.now()))));
      }
      const lists: KnownList[] = [];
      for (const schema of [INSTRUMENTS, UNIVERSE_MEMBERS]) {
        const { name } = schema;
        lists.push(
          ...(await readable([name], () => knownLists(reader, { table: schema, relation: `raw.${name}` }))),
        );
      }
      const runs = await readable(["requests", "runs"], () =>
        reader.json<RunRow>(
          `WITH asked AS (
             SELECT run_id, any_value(pipeline) AS pipeline, min(asked_at) AS asked_at, count(*) FILTER (attempts > 0) AS requests,
               count(*) FILTER (status IN ('refused', 'failed')) AS bad, sum("rows")::BIGINT AS rows, sum(bytes)::BIGINT AS bytes
             FROM requests GROUP BY run_id)
           SELECT run_id, coalesce(asked.pipeline, runs.pipeline) AS pipeline, coalesce(started_at, asked_at) AS started_at, status, coalesce(requests, 0) AS requests,
             coalesce(bad, 0) AS bad, coalesce(asked."rows", 0) AS rows, coalesce(asked.bytes, 0) AS bytes
           FROM asked FULL JOIN runs USING (run_id) WHERE asked.run_id IS NOT NULL OR status = 'killed'
           ORDER BY run_id DESC LIMIT 5`,
        ),
      );
      const refusedNow = await readable(["requests"], () => refusedFiles(reader, "requests"));
      const coverage =
        options.asOf === undefined
          ? await readable(COVERAGE_TABLES, () => lakeCoverage({ session: reader, lake, clock: systemClock }))
          : [];
      const unvouched =
        options.asOf === undefined
          ? await readable(
              [BARS_1D, ...EX_RULE_TABLES].map(({ name }) => name),
              async () => [await unvouchedCloses(reader)],
            )
          : [];
      if (options.json)
        printJson({
          unvouchedCloses: unvouched[0] && { ...unvouched[0], symbols: unvouched[0].symbols.length },
          tables,
          bars,
          lists,
          coverage,
          runs,
          refusedFiles: refusedNow,
          refused: faults,
        });
      else if (faults.length === 0 && tables.every((t) => t.version < 0n)) printEmpty(options);
      else print({ tables, bars, lists, coverage, unvouched: unvouched[0], runs, refusedNow });
      for (const { message, hint } of faults)
        process.stderr.write(
          `${paint("red", "error:")} ${message}\n${hint === undefined ? "" : `${paint("dim", "hint:")}  ${hint}\n`}`,
        );
      return faults.length === 0 ? EXIT.done : EXIT.partial;
    });
}

async function withVerification(
  lake: Lake,
  tables: readonly TableRow[],
  snapshots: readonly Snapshot[],
): Promise<StatusRow[]> {
  const since = await Promise.all(snapshots.map((snapshot) => verifiedSince(lake.storage, snapshot)));
  const byName = new Map(snapshots.map(({ table: { name } }, index) => [name, since[index]]));
  return tables.map((row) => {
    const at = byName.get(row.name);
    return { ...row, verified_at: at ? new Date(at) : null };
  });
}

const COVERAGE_TABLES = ["requests", "instruments", "trading_days", "bars_1d"];

interface Fault {
  readonly name: string;
  readonly message: string;
  readonly hint: string | undefined;
}

function faultOf(name: string, { message, hint }: BarlakeError): Fault {
  return { name, message, hint };
}

function printEmpty({ lake, asOf }: CommonOptions & PointInTimeOptions): void {
  const text =
    asOf === undefined
      ? "is empty; begin with: barlake demo, barlake import, or barlake run reference"
      : `was empty at ${new Date(asOf).toISOString()}`;
  process.stdout.write(`${lake} ${text}\n`);
}

/** Maximum number of gaps that are shown of each table and region. */
const GAPS_SHOWN = 3;

/** The share of all possible requests that have a response, and the largest gaps. */
function coverageLines(coverage: readonly TableCoverage[]): string[] {
  if (coverage.length === 0) return [];
  const rows = coverage.map((c) => [
    c.dataset,
    c.region,
    count(c.symbols),
    c.first,
    c.last,
    c.expected === 0 ? "·" : `${(Math.floor((c.answered / c.expected) * 10_000) / 100).toFixed(2)} %`,
    count(c.gaps.length),
  ]);
  const lines = ["", table(["coverage", "region", "symbols", "since", "until", "answered", "gaps"], rows)];
  const open = coverage.flatMap((c) =>
    c.open.map(({ reason, symbols }) => [c.dataset, c.region, reason, count(symbols)]),
  );
  if (open.length > 0) lines.push("", table(["without bars", "region", "why", "symbols"], open));
  const gaps = coverage.flatMap((c) =>
    c.gaps
      .slice(0, GAPS_SHOWN)
      .map((gap) => [
        c.dataset,
        c.region,
        gap.first,
        gap.last,
        count(gap.days),
        gap.place,
        count(gap.symbols),
        gap.examples.join(" "),
      ]),
  );
  if (gaps.length > 0)
    lines.push(
      "",
      table(["largest gaps", "region", "first", "last", "days", "at the", "symbols", "for example"], gaps),
      "fill them with: barlake run daily --repair, barlake run minute --repair",
    );
  return lines;
}

/** Why prices are not adjusted over some days. */
function unvouchedLines(found: UnvouchedCloses | undefined): string[] {
  if (found === undefined || found.closes === 0) return [];
  const some = found.examples.map(({ symbol, last, date }) => `${symbol} ${last} to ${date}`).join(", ");
  return [
    "",
    `${paint("yellow", "not adjusted for:")} ${plural(found.closes, "price step")} of ${plural(found.symbols.length, "symbol")}, over days that were not requested or were set aside (${some}${found.symbols.length > found.examples.length ? ", ..." : ""})`,
    "request the days with: barlake run daily --symbols ... --from ...; see all with: barlake check --audits",
  ];
}

interface StatusFacts {
  readonly tables: readonly StatusRow[];
  readonly bars: readonly LandedBars[];
  readonly lists: readonly KnownList[];
  readonly coverage: readonly TableCoverage[];
  readonly unvouched: UnvouchedCloses | undefined;
  readonly runs: readonly RunRow[];
  /** Files that pipelines have refused, and that are not mended yet. */
  readonly refusedNow: readonly RefusedFile[];
}

function print({ tables, bars, lists, coverage, unvouched, runs, refusedNow }: StatusFacts): void {
  const existing = tables.filter((t) => t.version >= 0n);
  const lines = [
    table(
      ["table", "rows", "files", "size", "version", "changed", "verified since"],
      existing.map((t) => [
        t.name,
        count(Number(t.rows)),
        count(Number(t.files)),
        size(Number(t.bytes)),
        Number(t.version),
        t.committed_at?.toISOString().slice(0, 19),
        t.files === 0n ? "" : (t.verified_at?.toISOString().slice(0, 10) ?? "never"),
      ]),
    ),
  ];
  if (bars.length > 0) {
    const rows = bars.map((b) => [b.dataset, b.region, count(b.symbols), count(b.bars), b.first, b.last]);
    lines.push("", table(["bars", "region", "symbols", "bars", "first", "last"], rows));
  }
  lines.push(...knownListLines(lists), ...coverageLines(coverage), ...unvouchedLines(unvouched));
  if (runs.length > 0) {
    const rows = runs.map((r) => [
      instantText(r.started_at)?.slice(0, 16),
      r.pipeline,
      r.status === null ? "running" : paint(r.status === "complete" ? "green" : "red", r.status),
      count(Number(r.requests)),
      count(Number(r.rows)),
      size(Number(r.bytes)),
      r.bad > 0n ? paint("red", String(r.bad)) : "0",
      r.run_id,
    ]);
    lines.push(
      "",
      table(
        ["last runs (UTC)", "pipeline", "ended", "requests", "rows", "received", "not answered", "run"],
        rows,
      ),
      "everything about one of them: barlake runs show RUN",
    );
  }
  if (refusedNow.length > 0) {
    const rows = refusedNow.map((one) => [
      paint("red", one.file),
      one.pipeline,
      one.dataset,
      inOptionWords(one.reason),
    ]);
    lines.push("", table(["refused files", "pipeline", "table", "why"], rows));
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
