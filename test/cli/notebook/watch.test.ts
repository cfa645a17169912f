import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Watched, watch } from "../../../src/cli/notebook/watch-sql.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli, runProcess } from "../run-cli.js";
import { smallLake } from "../small-lake.js";

/** Watches things whose states follow from the time, in milliseconds from 0, until a time. @returns what happened when. */
async function watched(
  things: readonly (Omit<Watched, "state"> & { readonly stateAt: (now: number) => string })[],
  untilMs: number,
): Promise<string[]> {
  const clock = virtualClock(0);
  const end = new AbortController();
  const happened: string[] = [];
  const looks = things.map(({ stateAt, ...one }) => ({
    ...one,
    state: async () => {
      if (clock.now() >= untilMs) end.abort();
      return stateAt(clock.now());
    },
  }));
  await watch(looks, async () => void happened.push(`work at ${clock.now()}`), {
    clock,
    signal: end.signal,
    onChange: (names) => happened.push(`${names.join(", ")} changed`),
  });
  return happened;
}

test("works once, and again after each change", async () => {
  const file = {
    name: "file",
    everyMs: 100,
    stateAt: (now: number) => (now < 250 ? "a" : now < 500 ? "b" : "a"),
  };
  expect(await watched([file], 1000)).toEqual([
    "work at 0",
    "file changed",
    "work at 300",
    "file changed",
    "work at 500",
  ]);
});

test("each thing is looked at in its own time, and what changed together is worked on once", async () => {
  const stateAt = (now: number): string => (now < 150 ? "a" : "b");
  const happened = await watched(
    [
      { name: "file", everyMs: 200, stateAt },
      { name: "lake", everyMs: 400, stateAt },
      { name: "late lake", everyMs: 1000, stateAt },
    ],
    1500,
  );
  expect(happened).toEqual([
    "work at 0",
    "file changed",
    "work at 200",
    "lake changed",
    "work at 400",
    "late lake changed",
    "work at 1000",
  ]);
  const both = await watched(
    [
      { name: "file", everyMs: 100, stateAt },
      { name: "lake", everyMs: 100, stateAt },
    ],
    1000,
  );
  expect(both).toEqual(["work at 0", "file, lake changed", "work at 200"]);
});

test("what changes during the work is worked on after it; a state that cannot be read is one", async () => {
  const clock = virtualClock(0);
  const end = new AbortController();
  let state: string | undefined = "a";
  let runs = 0;
  const one: Watched = {
    name: "file",
    everyMs: 100,
    state: async () => {
      if (state === undefined) throw new Error("it is gone");
      return state;
    },
  };
  await watch(
    [one],
    async () => {
      runs += 1;
      if (runs === 1) state = "b";
      if (runs === 2) state = undefined;
      if (runs === 3) end.abort();
    },
    { clock, signal: end.signal, onChange: () => {} },
  );
  expect(runs).toBe(3);
});

test("a page is written again when the notebook or the lake changes; an error does not end it, Ctrl-C does", async () => {
  const cwd = temporaryFolder();
  await smallLake(join(cwd, "data"));
  const write = (cell: string): void =>
    writeFileSync(
      join(cwd, "mine.sql"),
      `-- # Mine\n-- %%\n${cell}\nSELECT count(*) AS instruments FROM instruments;\n`,
    );
  write("-- %% chart pie x=a");
  writeFileSync(join(cwd, "more.csv"), "symbol,name,type\nAAPL.US,Apple,stock\n");
  const seen: string[] = [];
  const once = (name: string, act: () => unknown): void => {
    if (seen.includes(name)) return;
    seen.push(name);
    act();
  };
  // An import commits each table: the page may be written between two commits.
  const hasLanded = (): boolean =>
    /instruments v\d+ \(2 rows\)/.test(readFileSync(join(cwd, "page.html"), "utf8"));
  const { code, stdout, stderr } = await runProcess(
    ["sql", "-f", "mine.sql", "--html", "page.html", "--watch"],
    {
      cwd,
      onOutput(output, child) {
        const pages = output.split("wrote page.html").length - 1;
        if (pages === 1) once("landed", () => runCli(["import", "instruments", "more.csv"], { cwd }));
        if (pages >= 2 && hasLanded()) once("ended", () => child.kill("SIGINT"));
      },
      onLog(log) {
        if (log.includes("pie")) once("mended", () => write("SELECT 1 AS mended;"));
      },
    },
  );
  expect(seen).toEqual(["mended", "landed", "ended"]);
  expect(stdout).toMatch(
    /^\n[\d:]{8} UTC: mine\.sql changed\n[\s\S]*wrote page\.html[\s\S]*UTC: the lake changed\nwrote/,
  );
  expect(stderr).toMatch(/error: notebook mine\.sql:3: .*"pie" is no kind/);
  expect(code).toBe(0);
  expect(hasLanded()).toBe(true);
});

test.each<[string[], RegExp]>([
  [["--watch", "from bars_1d"], /--watch is for a file[\s\S]*-f/],
  [["--watch", "-f", "-"], /--watch is for a file/],
  [["--watch", "-f", "market-overview", "--engine", "trino"], /--watch is for DuckDB/],
  [["--watch", "-f", "none.sql"], /file none\.sql does not exist/],
])("%j is refused", async (parameters, message) => {
  const cwd = temporaryFolder();
  await smallLake(join(cwd, "data"));
  const { code, stderr } = await runCli(["sql", ...parameters], { cwd });
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});
