import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { repeatVariables } from "./seed.js";

/** Number of files in the list of the slowest. */
const SLOWEST = 20;
/** Seconds that a file of the long tests may take on a machine that is otherwise idle. */
const BUDGET_S = 30;
/** More than this many budgets of processor time fail the run: to wait for a busy machine takes none. */
const FAILS_AT = 3;

/** How long a file took, in seconds. */
interface FileTime {
  readonly path: string;
  readonly project: string;
  readonly importing: number;
  readonly testing: number;
  /** Processor time, with that of the processes that it started. */
  readonly processor: number;
  /** Both, on an otherwise idle machine: divided by the number of programs that waited for each core. */
  readonly alone: number;
}

/** Ends a run with its slowest files and, if something failed, with the commands that repeat it. */
export class RunReport implements Reporter {
  readonly #mayBeSlow: Readonly<Record<string, string>>;
  readonly #times: FileTime[] = [];

  /** @param mayBeSlow files that may take longer than the budget, each with the reason. */
  constructor(mayBeSlow: Readonly<Record<string, string>>) {
    this.#mayBeSlow = mayBeSlow;
  }

  onTestModuleEnd(module: TestModule): void {
    const { collectDuration, setupDuration, duration } = module.diagnostic();
    const [importing, testing] = [(collectDuration + setupDuration) / 1000, duration / 1000];
    const waiting = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
    const project = module.project.name;
    this.#times.push({
      path: pathOf(module),
      project,
      importing,
      testing,
      processor: module.meta().processorSeconds ?? 0,
      alone: (importing + testing) / waiting,
    });
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = this.#times.sort((a, b) => b.importing + b.testing - a.importing - a.testing);
    if (times.length > 1) console.log(`\n${slowestText(times)}`);
    if (process.env.TEST_TIMES !== undefined) writeFileSync(process.env.TEST_TIMES, timesText(times));
    for (const module of modules.filter((one) => one.state() === "failed"))
      console.log(`\n${repeatText(module)}`);
    const isSlow = ({ project, alone }: FileTime): boolean => project === "long" && alone > BUDGET_S;
    for (const one of times.filter((time) => isSlow(time) && !(time.path in this.#mayBeSlow))) {
      const { path, alone, processor } = one;
      console.error(
        `${path} takes ${alone.toFixed(0)} s, and a file may take ${BUDGET_S}: make it quicker, or list it with the reason in vitest.config.ts`,
      );
      if (processor > FAILS_AT * BUDGET_S) process.exitCode = 1;
    }
  }
}

const PARTS = ["importing", "testing", "processor"] as const;

function slowestText(times: readonly FileTime[]): string {
  const row = (cells: readonly string[], name: string): string =>
    `${cells.map((cell) => cell.padStart(8)).join(" ")}  ${name}`;
  const seconds = (one: Pick<FileTime, (typeof PARTS)[number]>): string[] =>
    PARTS.map((part) => one[part].toFixed(1));
  const sum = (part: (typeof PARTS)[number]): number => times.reduce((total, one) => total + one[part], 0);
  return [
    row(["import s", "tests s", "cpu s"], `slowest of ${times.length} files`),
    ...times.slice(0, SLOWEST).map((one) => row(seconds(one), one.path)),
    row(
      seconds({ importing: sum("importing"), testing: sum("testing"), processor: sum("processor") }),
      "all files",
    ),
  ].join("\n");
}

/** All files as a table, separated by tabs, those with the most processor time first. */
function timesText(times: readonly FileTime[]): string {
  const rows = [...times]
    .sort((a, b) => b.processor - a.processor)
    .map((one) => [...PARTS.map((part) => one[part].toFixed(2)), one.project, one.path]);
  return [[...PARTS, "project", "path"], ...rows].map((row) => `${row.join("\t")}\n`).join("");
}

/** The failed tests of a file, with hooks that failed, and the command that runs them again as they were run. */
function repeatText(module: TestModule): string {
  const { name } = module.project;
  const command = `${repeatVariables()} npx vitest run --project ${name} ${pathOf(module)}`;
  return ["failed:", ...failuresOf(module), "again:", `  npm run build && ${command}`].join("\n");
}

function failuresOf(module: TestModule): string[] {
  const tests = [...module.children.allTests("failed")].map((one) => one.fullName);
  const suites = [...module.children.allSuites()].map((one) => [`hooks of ${one.fullName}`, one] as const);
  const hooks = [["the file", module] as const, ...suites].flatMap(([name, one]) =>
    one.errors().map(({ message }) => `${name}: ${message}`),
  );
  return [...tests, ...hooks].map((text) => `  ${text}`);
}

function pathOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}
