import { Argument } from "commander";
import { type CheckReport, checkLake } from "../../jobs/check-lake.js";
import type { Finding, Severity } from "../../lake/check/finding.js";
import { TABLES } from "../../schema/tables.js";
import type { Cli } from "../cli.js";
import { EXIT } from "../exit-codes.js";
import { type CommonOptions, jsonOption, lakeOption, openLake, printJson } from "../lake-option.js";
import { progressView } from "../progress.js";
import { count, paint, plural, size, table } from "../text.js";

interface Options extends CommonOptions {
  readonly deep?: boolean;
}

/** Findings that people are shown; machines get all of them. */
const MOST_SHOWN = 40;
const SEVERITIES: readonly Severity[] = ["error", "warning", "info"];
const COLOUR = { error: "red", warning: "yellow", info: "dim" } as const;

export function addCheck(cli: Cli): void {
  cli.program
    .command("check")
    .description("look for damage: the log, the files, and with --deep every row of them")
    .addArgument(
      new Argument("[tables...]", "tables to check; without one, all").choices(
        TABLES.map(({ name }) => name),
      ),
    )
    .option("--deep", "read every file in full: content, rows, order, statistics, keys")
    .addOption(lakeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
Changes nothing, and others may read and write meanwhile. Without --deep it looks at the log and at the names and sizes
of the files, which takes moments.
Exit code 1: an error or a warning was found; what is only worth knowing does not count.

Examples:
  barlake check
  barlake check --deep bars_1d bars_1m
  barlake check --deep --json`,
    )
    .action((names: readonly string[], options: Options) =>
      cli.action(async () => {
        const tables = TABLES.filter(({ name }) => names.length === 0 || names.includes(name));
        const view =
          options.deep && !(options.json && process.stderr.isTTY) ? progressView("check") : undefined;
        const report = await checkLake(openLake(options), tables, {
          deep: options.deep === true,
          signal: cli.signal,
          onProgress: ({ table: name, file, ...progress }) =>
            view?.update({ ...progress, unit: "files", doing: `${name} ${file}` }),
        }).finally(() => view?.stop());
        if (options.json) printJson({ deep: options.deep === true, ...report });
        else process.stdout.write(`${text(report, options)}\n`);
        if (cli.signal.aborted) return EXIT.interrupted;
        return report.findings.some(({ severity }) => severity !== "info") ? EXIT.partial : EXIT.done;
      }),
    );
}

function text(report: CheckReport, options: Options): string {
  const findings = SEVERITIES.flatMap((severity) =>
    report.findings.filter((one) => one.severity === severity),
  );
  if (report.tables.length === 0 && findings.length === 0) return `${options.lake} holds nothing of that yet`;
  const lines = [summary(report, options)];
  if (findings.length === 0) return lines.join("\n");
  const shown = findings.slice(0, MOST_SHOWN);
  lines.push("", table(["severity", "table", "version", "rule", "what"], shown.map(cells)));
  if (findings.length > shown.length)
    lines.push(`and ${count(findings.length - shown.length)} more; --json has them all`);
  lines.push("", "what to do:", ...whatToDo(findings));
  return lines.join("\n");
}

function cells({ severity, table: name, version, rule, message }: Finding): (string | number | undefined)[] {
  return [paint(COLOUR[severity], severity), name, version, rule, message];
}

function summary({ tables, findings }: CheckReport, { deep }: Options): string {
  const total = (part: "files" | "bytes" | "rows"): number => tables.reduce((sum, one) => sum + one[part], 0);
  const read = deep ? `, ${plural(total("rows"), "row")} read` : "";
  const found = SEVERITIES.flatMap((severity) => {
    const n = findings.filter((one) => one.severity === severity).length;
    return n === 0 ? [] : [paint(COLOUR[severity], severity === "info" ? `${n} info` : plural(n, severity))];
  });
  const result = found.length === 0 ? paint("green", "nothing found") : found.join(", ");
  return `${plural(tables.length, "table")}, ${plural(total("files"), "file")} (${size(total("bytes"))})${read}: ${result}`;
}

/** Each piece of advice once, with the rules that it is for. */
function whatToDo(findings: readonly Finding[]): string[] {
  const rules = new Map<string, Set<string>>();
  for (const { hint, rule } of findings) rules.set(hint, (rules.get(hint) ?? new Set()).add(rule));
  return [...rules].map(([hint, names]) => `  ${[...names].join(", ")}: ${hint}`);
}
