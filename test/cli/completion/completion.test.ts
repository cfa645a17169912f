import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SCRIPTS, SHELLS } from "../../../src/cli/commands/project/completion.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli } from "../run-cli.js";

async function words(...typed: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCli(["completion", "bash", "--", ...typed], {
    cwd: temporaryFolder(),
  });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout
    .split("\n")
    .slice(1, -1)
    .map((line) => line.split("\t")[0] as string);
}

test("every command is completed, and every command's options: there is no second list", async () => {
  const { stdout } = await runCli(["--help"]);
  const listed = [...(stdout.split("Commands:")[1]?.split("Examples")[0] ?? "").matchAll(/^ {2}(\w+)/gm)];
  const commands = listed.map(([, name = ""]) => name);
  expect(commands.length).toBeGreaterThan(20);
  expect(await words("")).toEqual(commands);
  const help = await runCli(["sql", "--help"]);
  const options = [...help.stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, name]) => name);
  expect(await words("sql", "-")).toEqual(options);
});

test.each<[string[], string[]]>([
  [["run", "d"], ["daily"]],
  [["schedule", "daily", "fin"], ["financials"]],
  [
    ["history", "bars"],
    ["bars_1d", "bars_1m"],
  ],
  [
    ["sql", "from bars_1"],
    ["from bars_1d", "from bars_1m"],
  ],
  [["sql", "from daily_val"], ["from daily_valuation"]],
  [
    ["sql", "from re"],
    ["from reference_changes", "from rejects", "from requests", "from restated_closes", "from returns"],
  ],
  [
    ["run", "--region", ""],
    ["CN", "HK", "US"],
  ],
  [["sql", "--format", "p"], ["parquet"]],
  [["sql", "-f", "market"], ["market-overview"]],
  [["sql", "--version", "bars_1d"], ["bars_1d="]],
  [["dataset", "b"], ["build"]],
  [["dataset", "build", "cn-d"], ["cn-daily"]],
  [["dataset", "build", "cn-daily", "--format", "q"], ["qlib"]],
  [["import", "univ"], ["universes"]],
  [["completion", "z"], ["zsh"]],
  [["keys", "revoke", ""], []],
  [["none", ""], []],
])("%j is completed to %j", async (typed, expected) => {
  expect((await words(...typed)).sort()).toEqual(expected.sort());
});

test("the user's pipelines and notebooks are completed, without running one; a wrong config is no obstacle", async () => {
  const cwd = temporaryFolder();
  for (const folder of ["pipelines", "notebooks"]) mkdirSync(join(cwd, folder));
  writeFileSync(join(cwd, "pipelines/mine.ts"), 'process.stdout.write("was run\\n");\n');
  writeFileSync(join(cwd, "notebooks/mine.sql"), "SELECT 1;\n");
  mkdirSync(join(cwd, "sql/views"), { recursive: true });
  writeFileSync(join(cwd, "sql/views/mine.sql"), "CREATE OR REPLACE VIEW mine AS SELECT 1;\n");
  writeFileSync(join(cwd, "barlake.config.json"), "{");
  const after = async (...typed: string[]): Promise<string> =>
    (await runCli(["completion", "fish", "--", ...typed], { cwd })).stdout;
  expect(await after("run", "mi")).toBe("files\nminute\tpipeline\nmine\tpipeline\n");
  expect(await after("sql", "from mi")).toBe("words\nfrom mine\t\n");
  expect(await after("sql", "-f", "mi")).toBe("files\nmine\tyour notebook\n");
});

test("without words it prints the script of the shell", async () => {
  for (const shell of SHELLS) expect((await runCli(["completion", shell])).stdout).toBe(SCRIPTS[shell]);
});
