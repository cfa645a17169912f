import { InvalidArgumentError } from "commander";
import { systemClock } from "../../../client/system-clock.js";
import { auditLake } from "../../../jobs/maintenance/audit-lake.js";
import { type CheckReport, checkLake } from "../../../jobs/maintenance/check-lake.js";
import { checkSample, type SampleReport, type SampleSize } from "../../../jobs/maintenance/check-sample.js";
import { type ScrubReport, scrubLake } from "../../../jobs/maintenance/scrub-lake.js";
import type { Lake } from "../../../lake/lake.js";
import type { Finding, Severity } from "../../../lake/maintenance/check/finding.js";
import { type Cli, EXIT } from "../../cli.js";
import { failuresOf, throwErrors } from "../../error-text.js";
import { jsonOption, lakeOption, openExistingLake, printJson } from "../../options/lake-option.js";
import { tablesArgument, tablesNamed } from "../../options/options.js";
import { openService, type ServiceOptions, serviceOptions } from "../../options/service-option.js";
import { viewOf } from "../../progress.js";
import { auditText, isAsLanded, sampleText, scrubText } from "../../reports/check-text.js";
import { count, paint, plural, size, table } from "../../text.js";

interface Options extends ServiceOptions {
  readonly deep?: boolean;
  readonly scrub?: boolean;
  readonly audits?: boolean;
  readonly sample?: SampleSize;
}

/** Maximum number of findings that people are shown; machines get all of them. */
const MOST_SHOWN = 40;
const SEVERITIES: readonly Severity[] = ["error", "warning", "info"];
const COLOUR = { error: "red", warning: "yellow", info: "dim" } as const;

export function addCheck(cli: Cli): void {
  serviceOptions(
    cli.program
      .command("check")
      .addArgument(tablesArgument("tables to check; without one, all"))
      .option("--deep", "read every file in full: content, rows, order, statistics, keys")
      .option("--scrub", "verify the files that were verified longest ago: run once a day, all in four weeks")
      .option("--audits", "run the audits of sql/audits over the views: what the rows say of one another")
      .option(
        "--sample <part>",
        "ask the service again for a random part of the bars' requests, such as 1%, or for so many, and compare",
        sampleOf,
      ),
  )
    .addOptions(lakeOption(), jsonOption())
    .notes(`
Changes nothing; others may read and write at the same time. Without --deep it checks the log and the names and
sizes of the files, which takes seconds. With --audits it runs queries over the rows. With --sample it asks the service
again, which uses a part of the key's quota: this finds past data that the service has corrected since.
Exit code 1: an error or a warning was found; what is only worth knowing does not count.

Examples:
  barlake check
  barlake check --deep bars_1d bars_1m
  barlake check --deep --json
  barlake check --scrub                      once a day, by cron; barlake schedule does it by itself
  barlake check --audits
  barlake check --sample 1% --rpm 30`)
    .does(async (names: readonly string[], options: Options) => {
      const tables = tablesNamed(names);
      const lake = await openExistingLake(options);
      const view = options.deep ? viewOf("check", options) : undefined;
      const failures: unknown[] = [];
      let isFirst = true;
      /** Runs a part of the check and shows its result. A part that fails leaves the others as they are. */
      const part = async <T>(
        run: () => Promise<T>,
        textOf: (result: T) => string,
      ): Promise<T | undefined> => {
        try {
          const result = await run();
          if (!options.json) process.stdout.write(`${isFirst ? "" : "\n"}${textOf(result)}\n`);
          isFirst = false;
          return result;
        } catch (error) {
          failures.push(error);
          return undefined;
        }
      };
      const collected = async <T extends { readonly errors: readonly unknown[] }>(
        result: Promise<T>,
      ): Promise<Omit<T, "errors">> => {
        const { errors, ...found } = await result;
        failures.push(...errors);
        return found;
      };
      const { signal } = cli;
      const check = (): Promise<CheckReport> =>
        checkLake(lake, tables, {
          deep: options.deep === true,
          now: systemClock.now(),
          signal,
          onProgress: ({ table: name, file, ...progress }) =>
            view?.update({ ...progress, unit: "files", doing: `${name} ${file}` }),
        }).finally(() => view?.stop());
      const report = await part(
        () => collected(check()),
        (found) => text(found, options, signal.aborted),
      );
      const scrub = options.scrub && (await part(() => scrubLake(lake, { signal }, systemClock), scrubText));
      const audits = options.audits && (await part(() => collected(auditLake(lake, { signal })), auditText));
      const wanted = options.sample;
      const sample = wanted && (await part(() => askSample(cli, lake, options, wanted), sampleText));
      if (options.json)
        printJson({
          deep: options.deep === true,
          interrupted: signal.aborted,
          ...report,
          ...(scrub && { scrub: forMachines(scrub) }),
          ...(audits && { audits }),
          ...(sample && { sample }),
          ...failuresOf(failures),
        });
      if (signal.aborted) return EXIT.interrupted;
      throwErrors(failures);
      const findings = [...(report?.findings ?? []), ...(audits ? audits.findings : [])];
      const isSound = findings.every(({ severity }) => severity === "info");
      const isWhole = !scrub || scrub.damaged.length === 0;
      return isSound && isWhole && (!sample || isAsLanded(sample)) ? EXIT.done : EXIT.partial;
    });
}

function forMachines({ verifiedSince, ...scrub }: ScrubReport): object {
  const since = verifiedSince === undefined ? null : new Date(verifiedSince).toISOString();
  return { ...scrub, verified_since: since };
}

async function askSample(
  cli: Cli,
  lake: Lake,
  options: Options,
  sampleSize: SampleSize,
): Promise<SampleReport> {
  const service = await openService(options, lake, "check --sample");
  const view = viewOf("sample", options);
  try {
    return await checkSample(
      {
        lake,
        client: service.client,
        clock: systemClock,
        signal: AbortSignal.any([cli.signal, service.lost]),
        onProgress: (progress) => view?.update({ ...progress, unit: "requests" }),
      },
      sampleSize,
    );
  } finally {
    view?.stop();
    await service.close();
  }
}

/** `1%`, or a number of requests. */
function sampleOf(given: string): SampleSize {
  const [, number = "", percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(given) ?? [];
  const value = Number(number);
  if (percent === "%" && value > 0 && value <= 100) return { part: value / 100 };
  if (percent === "" && Number.isSafeInteger(value) && value > 0) return { requests: value };
  throw new InvalidArgumentError("must be a part such as 1%, or a number of requests");
}

function text(report: Omit<CheckReport, "errors">, options: Options, isInterrupted: boolean): string {
  const findings = SEVERITIES.flatMap((severity) =>
    report.findings.filter((one) => one.severity === severity),
  );
  if (report.tables.length === 0 && findings.length === 0)
    return isInterrupted ? "interrupted: 0 tables checked" : `${options.lake} has no such table yet`;
  const lines = [summary(report, options, isInterrupted)];
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

function summary(
  { tables, findings }: Omit<CheckReport, "errors">,
  { deep }: Options,
  isInterrupted: boolean,
): string {
  const total = (part: "files" | "bytes" | "rows"): number => tables.reduce((sum, one) => sum + one[part], 0);
  const read = deep ? `, ${plural(total("rows"), "row")} read` : ", contents not read (--deep reads them)";
  const found = SEVERITIES.flatMap((severity) => {
    const n = findings.filter((one) => one.severity === severity).length;
    return n === 0 ? [] : [paint(COLOUR[severity], severity === "info" ? `${n} info` : plural(n, severity))];
  });
  const cut = tables.filter(({ complete }) => !complete).map(({ table: name }) => name);
  const ended = [
    ...(cut.length === 0 ? [] : [`; the check of ${cut.join(", ")} ended early`]),
    ...(isInterrupted ? ["; interrupted"] : []),
  ].map((reason) => paint("yellow", reason));
  const nothing = ended.length === 0 ? paint("green", "nothing found") : "nothing found until then";
  const result = [found.length === 0 ? nothing : found.join(", "), ...ended].join("");
  return `${plural(tables.length, "table")}, ${plural(total("files"), "file")} (${size(total("bytes"))})${read}: ${result}`;
}

/** Each piece of advice once, with its rules. */
function whatToDo(findings: readonly Finding[]): string[] {
  const rules = new Map<string, Set<string>>();
  for (const { hint, rule } of findings) rules.set(hint, (rules.get(hint) ?? new Set()).add(rule));
  return [...rules].map(([hint, names]) => `  ${[...names].join(", ")}: ${hint}`);
}
