import { execFileSync } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli, runProcess } from "../run-cli.js";

/** Pieces of a file, of 260 kB each: by then the statement that reads it runs. */
const INTERRUPTED_AFTER = 40;

test("an import that fails when it writes lake.duckdb shows what has landed, and then the error", async () => {
  const place = temporaryFolder();
  const lake = join(place, "lake");
  const file = join(place, "600519.SH.csv");
  writeFileSync(
    file,
    "date,open,high,low,close,volume\n2024-01-02,10,11,9,10,100\n2024-01-03,10,11,9,10,100\n",
  );
  // A folder that is not empty cannot be replaced by a file.
  mkdirSync(join(lake, "lake.duckdb", "taken"), { recursive: true });
  const shown = await runCli(["import", "bars_1d", file, "--lake", lake]);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toMatch(/^bars_1d +2 /m);
  expect(shown.stderr).toMatch(/^error: lake\.duckdb: the views could not be created again/m);
  const again = await runCli(["import", "bars_1d", file, "--lake", lake, "--json"]);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({
    landed: [{ table: "bars_1d", inserted: 0, unchanged: 2 }],
  });
});

test("Ctrl-C ends an import while it reads a file; nothing of it lands", async () => {
  const place = temporaryFolder();
  const lake = join(place, "lake");
  // A file that never ends: only an interrupt of the statement that reads it ends the command.
  const file = join(place, "600519.SH.csv");
  execFileSync("mkfifo", [file]);
  const rows = "2024-01-02,10,11,9,10,100\n".repeat(10_000);
  let writer: ReturnType<typeof createWriteStream> | undefined;
  const { code, stdout, stderr } = await runProcess(["import", "bars_1d", file, "--lake", lake], {
    onStart: (child) => {
      let pieces = 0;
      writer = createWriteStream(file).on("error", () => {});
      const more = (): void => {
        pieces += 1;
        if (pieces === INTERRUPTED_AFTER) child.kill("SIGINT");
        writer?.write(rows, (error) => error == null && more());
      };
      writer.write("date,open,high,low,close,volume\n", more);
    },
  });
  writer?.destroy();
  expect({ code, stdout, stderr }).toEqual({ code: 130, stdout: "", stderr: "" });
  expect(existsSync(join(lake, "bars_1d"))).toBe(false);
});
