import type { Command } from "commander";
import { type Cli, CliCommand, exitOfImport } from "../../../src/cli/cli.js";
import { addImport, importText } from "../../../src/cli/commands/import.js";
import { errorText } from "../../../src/cli/error-text.js";
import type { ImportOptions } from "../../../src/jobs/import/import-options.js";
import { loadPlan, savePlan } from "../../../src/jobs/import/plan/import-plan.js";
import { type ImportReport, type ImportTable, runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import type { VirtualClock } from "../../faults/clock/virtual-clock.js";

/** What the command line made of the arguments of `barlake import`. */
export interface ImportCommand {
  readonly table: ImportTable;
  readonly files: readonly string[];
  readonly options: ImportOptions;
  readonly isDryRun: boolean;
  readonly plan?: string | undefined;
  readonly savePlan?: string | undefined;
}

/** Reads arguments by the definition of the command itself. */
export function parseImport(table: string, args: readonly string[]): ImportCommand {
  const program = new CliCommand().exitOverride();
  addImport({ program } as unknown as Cli);
  let parsed: ImportCommand | undefined;
  (program.commands[0] as Command)
    .exitOverride()
    .action((name: ImportTable, files: string[], given: Record<string, unknown>) => {
      const { dryRun, plan, savePlan: target, lake: _, json: __, announceLag, ...options } = given;
      parsed = {
        table: name,
        files,
        options: { ...options, announceLagDays: announceLag as number | undefined },
        isDryRun: dryRun === true,
        plan: plan as string | undefined,
        savePlan: target as string | undefined,
      };
    });
  program.parse(["import", table, ...args], { from: "user" });
  return parsed as ImportCommand;
}

/** A lake of a case, and the folder of its files. */
export interface CasePlace {
  readonly folder: string;
  readonly lake: Lake;
  readonly clock: VirtualClock;
}

/** The report of an import: paths without the folder, and no run id. */
export interface CaseOutcome {
  /** What the command prints. */
  readonly text: string;
  readonly report?: ImportReport;
}

/** Runs one import of a case as the command does. */
export async function runCommand(
  { folder, lake, clock }: CasePlace,
  { table, files, options, isDryRun, plan, savePlan: target }: ImportCommand,
  runId: string,
): Promise<CaseOutcome> {
  const inFolder = (path: string): string => `${folder}/${path}`;
  try {
    const report = await runImport(
      isDryRun ? new Lake(inFolder(`dry-${runId}`), { hasDatabase: false }) : lake,
      table,
      files.map(inFolder),
      {
        ...options,
        plan: plan === undefined ? undefined : await loadPlan(inFolder(plan), table),
        reference: lake,
        runId,
      },
      clock,
    );
    if (target !== undefined) await savePlan(inFolder(target), table, report.plan);
    const shown = withoutFolder(report, folder);
    const exit = exitOfImport(report);
    return {
      text: importText(shown, { isDryRun, lake: "LAKE" }) + (exit === 0 ? "" : `exit code ${exit}\n`),
      report: shown,
    };
  } catch (error) {
    return { text: `${errorText(error).replaceAll(`${folder}/`, "")}\n` };
  }
}

/** A plain value with all paths relative to a folder. */
function withoutFolder<T>(value: T, folder: string): T {
  if (typeof value === "string") return value.replaceAll(`${folder}/`, "") as T;
  if (Array.isArray(value)) return value.map((one) => withoutFolder(one, folder)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withoutFolder(one, folder)]),
  ) as T;
}
