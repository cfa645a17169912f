import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli } from "../run-cli.js";
import { smallLake } from "../small-lake.js";
import { hasTerminal, KEY, runInTerminal, type Step } from "./terminal.js";

const PROMPT = /barlake> /;
const STARTUP = ".timing off\nCREATE TEMP MACRO twice(x) AS x * 2;\n";

async function place(): Promise<{ readonly cwd: string; readonly env: Record<string, string> }> {
  const cwd = temporaryFolder();
  await smallLake(join(cwd, "data"));
  mkdirSync(join(cwd, "config/barlake"), { recursive: true });
  return { cwd, env: { XDG_CONFIG_HOME: join(cwd, "config"), XDG_STATE_HOME: join(cwd, "state") } };
}

describe.skipIf(!hasTerminal())("at a terminal", () => {
  const steps: readonly Step[] = [
    [PROMPT, `SELECT twice(21) AS answer;${KEY.enter}`],
    [/answer\s+42|error:/, ""],
    [PROMPT, KEY.ctrlD],
  ];
  const ask = async (startup: string, ...parameters: string[]) => {
    const { cwd, env } = await place();
    writeFileSync(join(cwd, "config/barlake/shell.sql"), startup);
    return runInTerminal(["sql", "--lake", join(cwd, "data"), ...parameters], steps, env);
  };

  test("the user's startup file runs first, and is named", async () => {
    const { code, shown } = await ask(STARTUP);
    expect(shown).toMatch(/runs .*config\/barlake\/shell\.sql; --no-init leaves it out/);
    expect(shown).toMatch(/answer\s+42/);
    // .timing off
    expect(shown).not.toMatch(/1 row ·/);
    expect(code).toBe(0);
  });

  test("--no-init leaves it out", async () => {
    const { shown } = await ask(STARTUP, "--no-init");
    expect(shown).not.toContain("shell.sql");
    expect(shown).toMatch(/error: .*twice does not exist/);
  });

  test("a mistake in it is shown, and the shell begins", async () => {
    const { code, shown } = await ask(`${STARTUP}SELECT nope;\n.quit\n`);
    expect(shown).toMatch(/shell\.sql was not run to its end:[\s\S]*nope[\s\S]*answer\s+42/);
    expect(code).toBe(0);
  });
});

test("before piped input only a file that --init names runs", async () => {
  const { cwd, env } = await place();
  writeFileSync(join(cwd, "config/barlake/shell.sql"), STARTUP);
  writeFileSync(join(cwd, "team.sql"), STARTUP);
  const ask = (...parameters: string[]) =>
    runCli(["sql", ...parameters], { cwd, env, input: "SELECT twice(21) AS answer;\n" });
  expect(await ask()).toMatchObject({ code: 2, stderr: expect.stringMatching(/twice does not exist/) });
  expect(await ask("--init", "team.sql")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/answer\n +42/),
  });
});

test("no file of the working directory runs by itself", async () => {
  const { cwd, env } = await place();
  for (const name of ["shell.sql", ".barlakerc", ".duckdbrc"]) writeFileSync(join(cwd, name), STARTUP);
  const given = { cwd, env: { ...env, HOME: join(cwd, "home") }, input: "SELECT twice(21);\n" };
  expect((await runCli(["sql"], given)).stderr).toMatch(/twice does not exist/);
});

test("a named startup file must be there and right, and is for a shell", async () => {
  const { cwd, env } = await place();
  const absent = await runCli(["sql", "--init", "none.sql"], { cwd, env, input: "SELECT 1;\n" });
  expect(absent).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/file none\.sql: cannot be read/),
  });
  writeFileSync(join(cwd, "wrong.sql"), "SELECT nope;\n");
  const wrong = await runCli(["sql", "--init", "wrong.sql"], { cwd, env, input: "SELECT 1 AS reached;\n" });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/nope/) });
  expect(wrong.stdout).not.toContain("reached");
  const query = await runCli(["sql", "--init", "wrong.sql", "SELECT 1"], { cwd, env });
  expect(query).toMatchObject({ code: 2, stderr: expect.stringMatching(/--init is for a shell/) });
});
