import { UsageError } from "../../../core/errors.js";
import { listRuns, type RunDetails, type RunRow, runDetails } from "../../../jobs/run/report/run-history.js";
import { openReader } from "../../../lake/open-reader.js";
import { type Cli, EXIT } from "../../cli.js";
import { inOptionWords } from "../../error-text.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../../options/lake-option.js";
import { wholeNumber } from "../../options/options.js";
import { referenceTable } from "../../reports/report-text.js";
import { instantText } from "../../reports/schedule-log.js";
import { count, duration, paint, plural, size, table } from "../../text.js";

interface ListOptions extends CommonOptions {
  readonly limit: number;
  readonly pipeline?: string;
}

/** Maximum number of a table's absent symbols that people are shown; machines get all of them. */
const MOST_SYMBOLS = 10;

export function addRuns(cli: Cli): void {
  const runs = cli.program
    .command("runs")
    .enablePositionalOptions()
    .option("--limit <n>", "newest runs that are shown", wholeNumber, 20)
    .option("--pipeline <name>", "runs of this pipeline alone")
    .addOptions(lakeOption(), jsonOption())
    .notes(EXAMPLES)
    .does(async (options: ListOptions) => {
      const { session } = await openReader(await openExistingLake(options));
      using reader = session;
      const found = await listRuns(reader, options);
      if (options.json) printJson(found.map(withOptions));
      else process.stdout.write(`${found.length === 0 ? "no run yet" : listText(found)}\n`);
      return EXIT.done;
    });
  runs
    .command("show")
    .description("everything about one run")
    .argument("[id]", "the run's id, or as much of its beginning as no other run has (default: the newest)")
    .addOptions(lakeOption(), jsonOption())
    .notes(EXAMPLES)
    .does(async (id: string | undefined, options: CommonOptions) => {
      const { session } = await openReader(await openExistingLake(options));
      using reader = session;
      const shown = id ?? (await listRuns(reader, { limit: 1 }))[0]?.run_id;
      if (shown === undefined) throw new UsageError("the lake has no run yet");
      const details = await runDetails(reader, shown);
      if (options.json) printJson({ ...details, run: withOptions(details.run) });
      else process.stdout.write(`${detailsText(details)}\n`);
      return EXIT.done;
    });
}

const EXAMPLES = `
Examples:
  barlake runs --pipeline daily --limit 5
  barlake runs show                          the newest
  barlake runs show 20261120T1030`;

function listText(runs: readonly RunRow[]): string {
  const rows = runs.map((run) => [
    run.run_id,
    run.pipeline,
    paint(run.status === "complete" ? "green" : "red", run.status),
    instantText(run.started_at),
    duration(run.finished_at.getTime() - run.started_at.getTime()),
    ...[run.requests_sent, run.rows, run.inserted, run.updated, run.rejected].map((n) => count(Number(n))),
    count(Number(run.requests_refused + run.requests_failed)),
  ]);
  return table(
    ["run", "pipeline", "status", "began (UTC)", "took", "requests", "rows", "inserted", "updated"].concat([
      "rejected",
      "failed",
    ]),
    rows,
  );
}

function detailsText({ run, requests, failures, windows, absent, changes, rejects }: RunDetails): string {
  const took = duration(run.finished_at.getTime() - run.started_at.getTime());
  const landed = (["inserted", "updated", "unchanged"] as const)
    .map((name) => `${count(Number(run[name]))} ${name}`)
    .join(", ");
  const lines = [
    `${paint("bold", run.pipeline)} ${paint(run.status === "complete" ? "green" : "red", run.status)} in ${took}, began ${instantText(run.started_at)} UTC`,
    `${run.run_id}, ${run.engine}, ${run.host}, options ${run.options}`,
    `${plural(Number(run.requests_sent), "request")} of ${count(Number(run.requests_planned))} planned, ${plural(Number(run.rows), "row")}, ${size(Number(run.bytes))}; ${landed}`,
  ];
  if (run.stopped !== null) lines.push(`${paint("red", "stopped:")} ${inOptionWords(run.stopped)}`);
  const part = (title: string, head: string[], rows: Parameters<typeof table>[1]): void => {
    if (rows.length > 0) lines.push("", paint("bold", title), table(head, rows));
  };
  part(
    "requests",
    ["table", "endpoint", "status", "requests", "attempts", "rows"],
    requests.map((r) => [r.dataset, r.endpoint, r.status, r.requests, r.attempts, count(r.rows)]),
  );
  part(
    "failures",
    ["status", "http", "requests", "symbols", "reason"],
    failures.map((f) => [f.status, f.http_status, f.requests, f.symbols, f.reason]),
  );
  part(
    "answered windows",
    ["table", "from (UTC)", "to (UTC)", "symbols"],
    windows.map((w) => [w.dataset, instantText(w.start), instantText(w.end), w.symbols]),
  );
  part(
    "asked for, and absent from the responses",
    ["table", "symbols", "for example"],
    absent.map((a) => [a.dataset, a.symbols.length, a.symbols.slice(0, MOST_SYMBOLS).join(" ")]),
  );
  lines.push(...referenceTable(changes));
  part(
    "set aside",
    ["table", "rule", "rows", "for example"],
    rejects.map((r) => [r.dataset, r.rule, r.rows, r.example]),
  );
  return lines.join("\n");
}

function withOptions(run: RunRow): object {
  return { ...run, options: JSON.parse(run.options) as unknown };
}
