import { systemClock } from "../../client/system-clock.js";
import { DAY_MS, type TradingDate } from "../../core/time.js";
import type { AuditFinding, AuditReport } from "../../jobs/maintenance/audit-lake.js";
import type { DeviatingBar, SampleReport } from "../../jobs/maintenance/check-sample.js";
import type { ScrubReport } from "../../jobs/maintenance/scrub-lake.js";
import { REGION_NAMES, REGIONS } from "../../market/regions.js";
import { addDays } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { count, paint, plural, size, table } from "../text.js";

const COLOUR = { error: "red", warning: "yellow", info: "dim" } as const;

/** The findings of audits, for people: each with its explanation and a few of its rows. */
export function auditText({ audits, findings }: Omit<AuditReport, "errors">): string {
  const result =
    findings.length === 0
      ? paint("green", "nothing found")
      : `${plural(findings.length, "audit")} found rows`;
  return [`${plural(audits, "audit")}: ${result}`, ...findings.map(findingText)].join("\n");
}

function findingText({ name, severity, explanation, rows, columns, examples }: AuditFinding): string {
  const more = rows > examples.length ? `\nand ${count(rows - examples.length)} more` : "";
  const shown = table(
    columns,
    examples.map((row) => row.map((cell) => (typeof cell === "string" ? cell : JSON.stringify(cell)))),
  );
  return `\n${paint(COLOUR[severity], severity)} ${name}: ${plural(rows, "row")}\n${explanation}\n${shown}${more}`;
}

/** Maximum number of deviations that people are shown; machines get all of them. */
const MOST_SHOWN = 40;

export function isAsLanded({ tables, failures }: SampleReport): boolean {
  return (
    failures.length === 0 && tables.every(({ counts }) => counts.changed + counts.gone + counts.new === 0)
  );
}

export function sampleText(sample: SampleReport): string {
  const { tables, deviations, failures } = sample;
  if (tables.every(({ answered }) => answered === 0))
    return "nothing to ask for again: no request for bars was answered yet";
  const lines = [
    `asked again: ${isAsLanded(sample) ? paint("green", "the service returns what the lake has") : paint("yellow", "the service returns something else")}`,
    table(
      ["table", "requests", "of", "bars", "changed", "gone", "new"],
      tables.map(({ table: name, asked, answered, bars, counts }) => [
        name,
        ...[asked, answered, bars, counts.changed, counts.gone, counts.new].map(count),
      ]),
    ),
  ];
  const rows = deviations.flatMap(({ table: name, symbol, timestamp, kind, values }) =>
    (values.length > 0 ? values : [undefined]).map((value) => [
      name,
      symbol,
      timestamp,
      kind,
      value?.column,
      value?.lake,
      value?.service,
    ]),
  );
  if (rows.length > 0) {
    lines.push(
      "",
      table(["table", "symbol", "timestamp", "what", "column", "lake", "service"], rows.slice(0, MOST_SHOWN)),
      ...mergeCommands(deviations),
    );
  }
  for (const failure of new Set(failures)) lines.push(`${paint("red", "failed:")} ${failure}`);
  return lines.join("\n");
}

function mergeCommands(deviations: readonly DeviatingBar[]): string[] {
  const pipelines = [
    ["daily", BARS_1D],
    ["minute", BARS_1M],
  ] as const;
  return pipelines.flatMap(([pipeline, { name }]) => {
    const own = deviations.filter((one) => one.table === name && one.kind !== "gone");
    const gone = withdrawnCommands(
      name,
      deviations.filter((one) => one.table === name && one.kind === "gone"),
    );
    if (own.length === 0) return gone;
    const symbols = [...new Set(own.map(({ symbol }) => symbol))];
    const oldest = Math.min(...own.map(({ timestamp }) => Date.parse(timestamp)));
    const days = Math.ceil((systemClock.now() - oldest) / DAY_MS) + 1;
    return [
      `to have them merged: barlake run ${pipeline} --symbols ${symbols.join(",")} --lookback ${days}d`,
      ...gone,
    ];
  });
}

function withdrawnCommands(name: string, gone: readonly DeviatingBar[]): string[] {
  return REGION_NAMES.flatMap((region) => {
    const own = gone.filter(({ symbol }) => regionOf(symbol) === region);
    if (own.length === 0) return [];
    const symbols = [...new Set(own.map(({ symbol }) => symbol))];
    const times = own.map(({ timestamp }) => Date.parse(timestamp));
    const [first, last] = [Math.min(...times), Math.max(...times)].map((ms) =>
      localDate(ms, REGIONS[region].zone),
    ) as [TradingDate, TradingDate];
    const days = `--from ${first} --to ${addDays(last, 1)}`;
    return [
      `to accept that bars are gone: barlake withdrawn ${name} --symbols ${symbols.join(",")} ${days} --accept`,
    ];
  });
}

/** The result of verifying a part of the lake, on one line; a further line for each damaged file. */
export function scrubText({ files, bytes, damaged, verifiedSince }: ScrubReport): string {
  if (files === 0 && damaged.length === 0) return "nothing to verify: all was verified within the last week";
  const found =
    damaged.length === 0
      ? paint("green", "as they were written")
      : paint("red", `${plural(damaged.length, "file")} damaged`);
  const since =
    verifiedSince === undefined
      ? ""
      : `; all verified since ${new Date(verifiedSince).toISOString().slice(0, 10)}`;
  return [
    `verified ${plural(files, "file")} (${size(bytes)}): ${found}${damaged.length === 0 ? since : ""}`,
    ...damaged.map((what) => `  ${what}`),
    ...(damaged.length === 0 ? [] : ["  barlake repair restores them, or has their rows requested again"]),
  ].join("\n");
}
