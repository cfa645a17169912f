import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { smallLake } from "../small-lake.js";
import { hasTerminal, KEY, runInTerminal, type Step } from "./terminal.js";

const PROMPT = /barlake> /;

describe.skipIf(!hasTerminal())("the shell at a terminal", () => {
  const run = async (steps: readonly Step[], place = temporaryFolder()) => {
    const lake = join(place, "lake");
    if (!existsSync(lake)) await smallLake(lake);
    return runInTerminal(["sql", "--lake", lake], steps, { XDG_STATE_HOME: join(place, "state") });
  };
  const historyOf = (place: string): string =>
    readFileSync(join(place, "state", "barlake", "sql_history"), "utf8");

  test("stores whole statements for later sessions, and none that begins with a blank", async () => {
    const place = temporaryFolder();
    await run(
      [
        [PROMPT, `SELECT ';' AS a, 6 *${KEY.enter}`],
        [/\.\.\.> /, `  7 AS answer; -- said${KEY.enter}`],
        [/1 row/, ""],
        [PROMPT, ` SELECT 'secret';${KEY.enter}`],
        [/1 row/, ""],
        [PROMPT, `.timing off${KEY.enter}`],
        [PROMPT, KEY.ctrlD],
      ],
      place,
    );
    expect(historyOf(place)).toBe("SELECT ';' AS a, 6 * 7 AS answer;\n.timing off\n");
    const { shown } = await run(
      [
        [PROMPT, `${KEY.up}${KEY.up}${KEY.enter}`],
        [/a +answer\s+; +42[\s\S]*1 row/, ""],
        [PROMPT, KEY.ctrlD],
      ],
      place,
    );
    expect(shown).not.toContain("secret");
  });

  test("Tab completes keywords, views, columns of what the statement names, and commands", async () => {
    const { shown } = await run([
      [PROMPT, `SELECT settl${KEY.tab}`],
      [/settlement_price/, ` FRO${KEY.tab}`],
      [/FROM/, ` bars_1d LIMIT 0;${KEY.enter}`],
      [/0 rows/, ""],
      [PROMPT, `.desc${KEY.tab}`],
      [/\.describe/, ` ex_ev${KEY.tab}`],
      [/ex_events/, KEY.enter],
      [/ex_events, view/, ""],
      [PROMPT, KEY.ctrlD],
    ]);
    expect(shown).toMatch(/settlement_price\s+0 rows/);
  });

  test("Ctrl-C drops what is entered, or stops the statement that runs, and not the shell", async () => {
    const { code, shown } = await run([
      [PROMPT, `SELECT 1 AS unwanted,${KEY.enter}`],
      [/\.\.\.> /, `2${KEY.ctrlC}`],
      [
        /\^C\s+barlake> /,
        `SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i);${KEY.enter}`,
      ],
      [/b\(i\);\s/, KEY.ctrlC],
      [/stopped/, ""],
      [PROMPT, `SELECT 'alive' AS s;${KEY.enter}`],
      [/alive[\s\S]*1 row/, KEY.ctrlD],
    ]);
    expect(code).toBe(0);
    expect(shown).not.toMatch(/unwanted\s+1/);
  });

  test("Ctrl-D while a statement runs leaves when it is done", async () => {
    const { code, shown } = await run([
      [PROMPT, `SELECT sum(i * j % 7) AS done FROM range(20000) a(i), range(3000) b(j);${KEY.enter}`],
      [/b\(j\);\s/, KEY.ctrlD],
    ]);
    expect(code).toBe(0);
    expect(shown).toMatch(/done[\s\S]*1 row/);
  });

  test("shows a screen of rows at a time; Enter shows the next", async () => {
    const { shown } = await run([
      [PROMPT, `SELECT i FROM range(25) t(i);${KEY.enter}`],
      [/first 19 rows; Enter shows more/, ""],
      [PROMPT, `.chart bar i i${KEY.enter}`],
      [/i by i/, ""],
      [PROMPT, `.chart line i i${KEY.enter}`],
      [/i by i[\s\S]*24\s/, ""],
      [PROMPT, KEY.enter],
      [/rows 20 to 25, the last/, ""],
      [PROMPT, KEY.enter],
      [PROMPT, `.more${KEY.enter}`],
      [/no more rows/, KEY.ctrlD],
    ]);
    expect(shown).toMatch(/\n24\s/);
    expect(shown).toMatch(/[\u2801-\u28ff]{3}/);
  });

  test("columns that do not fit are named, and .mode lines shows all", async () => {
    const { shown } = await run([
      [PROMPT, `FROM (SELECT 1 AS n, repeat('x', 60) AS s, repeat('y', 60) AS t, 2 AS last);${KEY.enter}`],
      [/2 more columns: t, last \(\.mode lines or \.mode wide shows all\)/, ""],
      [PROMPT, `.mode lines${KEY.enter}`],
      [PROMPT, `.limit 1${KEY.enter}`],
      [PROMPT, `SELECT 1 AS first, 2 AS last;${KEY.enter}`],
      [/first {2}1\s+last {2}2/, KEY.ctrlD],
    ]);
    for (const line of shown.split("\n").filter((one) => one.includes("xxx…")))
      expect(line.trimEnd().length).toBeLessThanOrEqual(80);
  });

  test("a mistake is shown with a caret under it and what to do next, and the shell goes on", async () => {
    const { code, shown } = await run([
      [PROMPT, `SELECT${KEY.enter}`],
      [/\.\.\.> /, `  clos FROM bars_1d;${KEY.enter}`],
      [/did you mean close/, ""],
      [PROMPT, `.tabels${KEY.enter}`],
      [/did you mean \.tables\?/, ""],
      [PROMPT, `.quit${KEY.enter}`],
    ]);
    expect(code).toBe(0);
    expect(shown.replaceAll("\r", "")).toContain("  line 2:   clos FROM bars_1d\n            ^\n");
  });
});
