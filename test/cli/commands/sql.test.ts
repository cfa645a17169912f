import { spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "@uwdata/flechette";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { pickFrom } from "../../sweep.js";
import { MAIN, runCli } from "../run-cli.js";
import { hasTerminal, runInTerminal } from "../shell/terminal.js";
import { smallLake } from "../small-lake.js";

const THREE = "SELECT i::INTEGER AS i, 'a|b' AS s, [i, NULL] AS l FROM range(3) t(i)";

/** Fails far behind what DuckDB computes ahead of its reader. */
const FAILS_LATE =
  "SELECT CASE WHEN i < 600000 THEN i ELSE error('no more') END AS i FROM range(1000000) t(i)";

/** A folder to work in, whose lake has no bars. */
function place(): {
  folder: string;
  lake: Promise<string>;
  sql: (...parameters: string[]) => ReturnType<typeof runCli>;
} {
  const folder = temporaryFolder();
  const lake = smallLake(join(folder, "lake"));
  return {
    folder,
    lake,
    sql: async (...parameters) =>
      runCli(["sql", ...parameters], { cwd: folder, env: { BARLAKE_LAKE: await lake } }),
  };
}

describe("a statement that runs with only the views that it mentions", () => {
  once("has the same names: in any letters, computed, in quotes, and in a list of all", async () => {
    const { sql } = place();
    const answers = async (statement: string): Promise<string> => {
      const { code, stdout } = await sql(statement, "--format", "csv");
      expect(code).toBe(0);
      return stdout;
    };
    expect(await answers("SELECT name FROM INSTRUMENTS")).toBe("name\nKweichow Moutai\n");
    expect(await answers(`SELECT name FROM "instruments" -- bars`)).toBe("name\nKweichow Moutai\n");
    expect(await answers("SELECT name FROM query_table('instru' || 'ments')")).toBe(
      "name\nKweichow Moutai\n",
    );
    expect(await answers("SELECT count(*) AS n FROM raw.bars_1d")).toBe("n\n0\n");
    expect(await answers("SELECT count(*) > 10 AS n FROM duckdb_views() WHERE schema_name = 'raw'")).toBe(
      "n\ntrue\n",
    );
    expect(
      await answers(
        "SELECT comment FROM duckdb_columns() WHERE schema_name = 'raw' AND column_name = 'code'",
      ),
    ).toMatch(/^comment\n\S/);
  });

  once("finds a table that only a comment seems to hide, and proposes names as ever", async () => {
    const { sql } = place();
    const hidden = await sql("SELECT '--' AS dashes, name FROM instruments", "--format", "csv");
    expect(hidden.stdout).toBe("dashes,name\n--,Kweichow Moutai\n");
    const { code, stderr } = await sql("SELECT * FROM instrumentz");
    expect(code).toBe(2);
    expect(stderr).toContain("did you mean instruments?");
  });

  once("sees the user's own views, also those in the place of one that comes with it", async () => {
    const { folder, sql } = place();
    mkdirSync(join(folder, "sql/views"), { recursive: true });
    writeFileSync(
      join(folder, "sql/views/mine.sql"),
      "CREATE OR REPLACE VIEW exchanges AS SELECT 'mine' AS code;",
    );
    expect((await sql("FROM exchanges", "--format", "csv")).stdout).toBe("code\nmine\n");
  });
});

describe("a result", () => {
  test.skipIf(!hasTerminal())("in a file is named on a terminal", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "x.csv");
    const { code, shown } = await runInTerminal(["sql", "SELECT 42 AS i", "-o", file], [], {
      BARLAKE_LAKE: await smallLake(join(folder, "lake")),
    });
    expect(code).toBe(0);
    expect(shown).toMatch(/^5 B in \S+x\.csv · [\d.]+ m?s\s*$/);
    expect(readFileSync(file, "utf8")).toBe("i\n42\n");
  });

  once("is written in the format of its file's name", async () => {
    const { folder, sql } = place();
    const written = async (file: string): Promise<Buffer> => {
      expect(await sql(THREE, "-o", file)).toMatchObject({ code: 0, stderr: "", stdout: "" });
      return readFileSync(join(folder, file));
    };
    expect((await written("x.csv")).toString()).toBe(
      'i,s,l\n0,a|b,"[0, NULL]"\n1,a|b,"[1, NULL]"\n2,a|b,"[2, NULL]"\n',
    );
    expect((await written("x.json")).toString().split("\n")[1]).toBe('{"i":1,"s":"a|b","l":[1,null]}');
    expect((await written("x.parquet")).subarray(0, 4).toString()).toBe("PAR1");
    expect((await written("x.md")).toString()).toBe(
      "| i | s | l |\n| ---: | --- | --- |\n| 0 | a\\|b | \\[0, NULL\\] |\n| 1 | a\\|b | \\[1, NULL\\] |\n| 2 | a\\|b | \\[2, NULL\\] |\n",
    );
    expect((await written("x.txt")).toString()).toBe(
      "i  s    l\n0  a|b  [0, NULL]\n1  a|b  [1, NULL]\n2  a|b  [2, NULL]\n",
    );
    expect((await written("x")).toString()).toBe((await written("x.csv")).toString());
    expect((await written("x.arrow")).subarray(0, 6).toString()).toBe("ARROW1");
    expect((await written("x.feather")).subarray(0, 6).toString()).toBe("ARROW1");
    for (const name of ["x.arrow", "x.arrows"])
      expect(tableFromIPC(await written(name)).toArray()).toHaveLength(3);
  });

  once("is not written under an ending that promises another format", async () => {
    const { folder, sql } = place();
    const { code, stderr } = await sql(THREE, "-o", "x.dat");
    expect(stderr).toMatch(/x\.dat: no result can be written as \.dat\nhint: +the endings are \.csv/);
    expect(code).toBe(2);
    expect(readdirSync(folder)).toEqual(["lake"]);
    expect(await sql(THREE, "-o", "x.dat", "--format", "csv")).toMatchObject({ code: 0 });
  });

  once("goes to standard output, as Arrow too", async () => {
    const { lake } = place();
    const child = spawn(process.execPath, [MAIN, "sql", THREE, "--format", "arrow", "--lake", await lake]);
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(0);
    const table = tableFromIPC(Buffer.concat(pieces));
    expect(table.getChild("i").toArray()).toEqual(Int32Array.of(0, 1, 2));
  });

  test("that fails midway does not look whole on standard output", async () => {
    const lake = ["--lake", await place().lake];
    for (const format of pickFrom(["arrow", "csv", "json", "markdown"], { few: 1, more: 4, all: 4 }, [0])) {
      const child = spawn(process.execPath, [MAIN, "sql", FAILS_LATE, "--format", format, ...lake]);
      const [pieces, errors]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
      child.stderr.on("data", (piece: Buffer) => errors.push(piece));
      expect(await new Promise((resolve) => child.on("close", resolve))).toBe(1);
      expect(Buffer.concat(errors).toString()).toContain("no more");
      if (format === "arrow")
        expect(() => tableFromIPC(Buffer.concat(pieces))).toThrow(/Expected to read 264/);
      // These are written by DuckDB first, and printed when they are whole.
      if (format === "csv" || format === "json") expect(pieces).toEqual([]);
    }
  });

  test("replaces a file only when it is whole", async () => {
    const { folder, sql } = place();
    for (const format of pickFrom(["csv", "json", "parquet", "arrow", "markdown"], {
      few: 2,
      more: 5,
      all: 5,
    })) {
      const file = join(folder, `old.${format}`);
      writeFileSync(file, "precious");
      const { code, stderr } = await sql(FAILS_LATE, "--format", format, "-o", file);
      expect(stderr).toContain("no more");
      expect(code).toBe(1);
      expect(readFileSync(file, "utf8")).toBe("precious");
    }
    expect(readdirSync(folder).filter((name) => name !== "lake" && !name.startsWith("old."))).toEqual([]);
  });

  once("goes through a link to the file that it leads to, whose mode does not change", async () => {
    const { folder, sql } = place();
    mkdirSync(join(folder, "real"));
    const real = join(folder, "real", "x.csv");
    writeFileSync(real, "old");
    chmodSync(real, 0o640);
    symlinkSync(real, join(folder, "link.csv"));
    await sql("SELECT 1 AS a", "-o", "link.csv");
    expect(readFileSync(real, "utf8")).toBe("a\n1\n");
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).sort()).toEqual(["lake", "link.csv", "real"]);
  });

  once("may go to a device", async () => {
    const { sql } = place();
    expect(await sql(THREE, "--format", "csv", "-o", "/dev/null")).toMatchObject({ code: 0, stderr: "" });
    expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  });

  once.each([
    [["SELECT 1", "-o", "no/such/x.csv"], /there is no folder .*no\/such[\s\S]*hint: {2}make it/],
    [["SELECT 1", "-o", "."], /is a folder/],
    [
      ["SELECT to_days(1) AS d, '1'::BIT AS b", "--format", "arrow"],
      /column b: BIT has no counterpart in Arrow[\s\S]*cast it/,
    ],
    [["-f", "none.sql"], /file none\.sql does not exist, nor a notebook of that name/],
  ])("is refused where it cannot be: %j", async (parameters, message) => {
    const { code, stderr } = await place().sql(...parameters);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(code).toBe(2);
  });
});

describe("several statements", () => {
  const SQL = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1), (2); -- two\nFROM t;\nSELECT ';' AS b";

  once("are all shown, and the last one is written", async () => {
    const { folder, sql } = place();
    writeFileSync(join(folder, "q.sql"), SQL);
    const shown = await sql("-f", "q.sql");
    expect(shown.stdout).toMatch(/^done[^\n]*\n2 rows changed[^\n]*\na\n1\n2\n2 rows[^\n]*\nb\n;\n1 row/);
    expect(await sql("-f", "q.sql", "--format", "csv")).toMatchObject({ code: 0, stdout: "b\n;\n" });
  });

  once("name the line of a mistake", async () => {
    const { folder, sql } = place();
    for (const parameters of [[], ["--format", "csv"], ["--format", "arrow"]]) {
      writeFileSync(join(folder, "q.sql"), "SELECT 1;\n\nSELECT\n  clos\nFROM bars_1d -- x\n");
      const { code, stderr } = await sql("-f", "q.sql", ...parameters);
      expect(stderr).toMatch(
        /"clos" not found in FROM clause!\n {2}line 4: {3}clos\n {12}\^\nhint: {2}did you mean close/,
      );
      expect(code).toBe(2);
    }
  });
});

describe("standard input", () => {
  const piped = async (input: string, ...parameters: string[]) => {
    const { folder, lake } = place();
    return runCli(["sql", ...parameters], {
      cwd: folder,
      input,
      env: { BARLAKE_LAKE: await lake },
    });
  };

  once("runs without prompts, commands too, and stops at the first mistake", async () => {
    const input = "SELECT 1 AS a;\n.mode lines\nSELECT 2 AS b\n;\n.nonsense\nSELECT 'never';\n";
    const { code, stdout, stderr } = await piped(input);
    expect(stdout).toMatch(/^a\n1\n1 row[^\n]*\nb {2}2\n1 row[^\n]*\n$/);
    expect(stderr).toMatch(/\.nonsense is no command[\s\S]*\.help lists them/);
    expect(code).toBe(2);
  });

  once.each(["exit", "quit;", " EXIT "])("ends with %s", async (word) => {
    expect(await piped(`SELECT 1 AS a;\n${word}\nSELECT 'never';\n`)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^a\n1\n1 row[^\n]*\n$/),
    });
  });

  once("needs no semicolon at its end", async () => {
    expect(await piped("SELECT 1 AS a")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^a\n1\n/) });
  });

  once("is the query where its result has a format", async () => {
    expect(await piped("SELECT 1 AS a;\nSELECT 2 AS b", "--format", "csv")).toMatchObject({
      code: 0,
      stdout: "b\n2\n",
    });
  });
});

once("a shell's results go to files, and files into it", async () => {
  const { folder, lake } = place();
  writeFileSync(join(folder, "inner.sql"), "SELECT 'from a file' AS t;\n");
  const input = [
    ".timing off",
    ".output out.txt",
    ".read inner.sql",
    ".output rows.parquet",
    "SELECT i FROM range(1000) t(i);",
    "SELECT count(*) AS n, sum(i) AS s FROM 'rows.parquet';",
    ".read missing.sql",
  ];
  const { code, stdout, stderr } = await runCli(["sql"], {
    cwd: folder,
    input: input.join("\n"),
    env: { BARLAKE_LAKE: await lake },
  });
  expect(readFileSync(join(folder, "out.txt"), "utf8")).toBe("t\nfrom a file\n1 row\n");
  expect(stdout).toMatch(/wrote rows\.parquet\n +n +s\n1000 +499500\n/);
  expect(stderr).toMatch(/file missing\.sql: cannot be read/);
  expect(code).toBe(2);
});

once("files that read one another come to an end", async () => {
  const { folder, lake } = place();
  writeFileSync(join(folder, "loop.sql"), ".read loop.sql\n");
  const { code, stderr } = await runCli(["sql"], {
    cwd: folder,
    input: ".read loop.sql\n",
    env: { BARLAKE_LAKE: await lake },
  });
  expect(stderr).toMatch(/loop\.sql: files read one another 10 deep/);
  expect(code).toBe(2);
});
