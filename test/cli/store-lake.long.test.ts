import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { type CliResult, runCli } from "./run-cli.js";

const HEAD = "symbol,timestamp,open,high,low,close,volume,amount\n";
const DAYS = ["2026-03-02", "2026-03-03", "2026-03-04"];
const row = (symbol: string, day: string, close: number): string =>
  `${symbol},${day}T07:00:00Z,10,11,9,${close},100,1000\n`;

describe.skipIf(!HAS_STORE)("a lake on a store", () => {
  const stores = storeLakes();

  test("every command does there what it does in a folder, and no output has a key", async () => {
    const place = temporaryFolder();
    const files = [1, 2].map((n) => join(place, `${n}.csv`));
    const symbols = ["600519.SH", "000001.SZ", "AAPL.US"];
    writeFileSync(
      files[0] as string,
      HEAD + DAYS.flatMap((day) => symbols.map((one) => row(one, day, 10))).join(""),
    );
    // A correction, a new day, and a row that is refused.
    const more = [
      row("600519.SH", "2026-03-04", 10.5),
      row("600519.SH", "2026-03-05", 10),
      row("600519.SH", "x", 1),
    ];
    writeFileSync(files[1] as string, HEAD + more.join(""));
    const bars = "SELECT symbol, trade_date, close FROM bars_1d ORDER BY ALL";
    const outputs: CliResult[] = [];
    const resultsAt = async (lake: string): Promise<unknown[]> => {
      const results: unknown[] = [];
      const run = async (...parameters: string[]): Promise<void> => {
        const env = { ...stores.env, BARLAKE_LAKE: lake };
        const result = await runCli(parameters, { env, cwd: place });
        outputs.push(result);
        results.push([parameters, result.code, withoutChance(result.stdout, lake)]);
      };
      await run("import", "bars_1d", files[0] as string);
      await run("import", "bars_1d", files[1] as string);
      await run("sql", bars, "--format", "csv");
      await run("sql", "SELECT rule, source FROM rejects ORDER BY ALL", "--format", "csv");
      await run("sql", bars, "--format", "csv", "--version", "bars_1d=0");
      await run("optimize", "--json");
      await run("history", "bars_1d", "--json");
      await run("check", "--deep", "--json");
      // A store has times in seconds: what is deleted without a retention would depend on the moment.
      await run("vacuum", "--json");
      await run("status");
      await run(
        "plan",
        "daily",
        "--symbols",
        "600519.SH",
        "--from",
        "2026-03-01",
        "--to",
        "2026-03-10",
        "--json",
      );
      await run("runs");
      await run("dataset", "list");
      return results;
    };
    const ofFolder = await resultsAt(join(place, "lake"));
    const location = stores.newLocation();
    const ofStore = await resultsAt(location);
    expect(ofStore).toEqual(ofFolder);
    expect(ofFolder.map((one) => (one as unknown[])[1])).toEqual(ofFolder.map(() => 0));

    // What is on this machine: the views, with addresses of the store, and no key.
    const work = readdirSync(stores.env.BARLAKE_WORK as string, { recursive: true, encoding: "utf8" })
      .map((name) => join(stores.env.BARLAKE_WORK as string, name))
      .filter((path) => statSync(path).isFile());
    expect(work.some((path) => path.endsWith("lake.duckdb"))).toBe(true);
    const secret = stores.env.AWS_SECRET_ACCESS_KEY as string;
    for (const path of work) expect([path, readFileSync(path).includes(secret)]).toEqual([path, false]);
    const unredacted = await runCli(["sql", "FROM duckdb_secrets()", "--lake", location], {
      env: stores.env,
    });
    for (const { stdout, stderr } of [...outputs, unredacted]) expect(stdout + stderr).not.toContain(secret);

    const wrong = { ...stores.env, AWS_SECRET_ACCESS_KEY: "another-secret" };
    const refused = await runCli(["sql", bars, "--lake", location], { env: wrong });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: .*SignatureDoesNotMatch/);
    expect(refused.stderr).not.toContain("another-secret");
    for (const [lake, message] of [
      ["s3://", /^error: address s3:\/\/ names no bucket/],
      ["gs://bucket/lake", /^error: lake gs:\/\/bucket\/lake: gs:\/\/ is no place of a lake/],
    ] as const) {
      const { code, stderr } = await runCli(["sql", bars, "--lake", lake], { env: stores.env });
      expect([lake, code]).toEqual([lake, 2]);
      expect(stderr).toMatch(message);
    }
    const none = await runCli(["sql", bars, "--lake", "s3://no-such-bucket/lake"], { env: stores.env });
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/^error: .*NoSuchBucket.*\nhint: /);
    const folder = temporaryFolder();
    const env = { ...stores.env, BARLAKE_DUCKDB_EXTENSIONS: folder };
    const lacking = await runCli(["sql", bars, "--lake", location], { env });
    expect(lacking.code).toBe(1);
    expect(lacking.stderr).toMatch(
      /^error: BARLAKE_DUCKDB_EXTENSIONS: there is no .*httpfs.*\nhint: .*DuckDB v\d/,
    );
  });
});

/** An output without names by chance, times of the machine, and the place of the lake. */
function withoutChance(text: string, lake: string): string {
  return text
    .replaceAll(lake, "LAKE")
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, "RUN")
    .replaceAll(/-[0-9a-f]{8}\.parquet/g, "-X.parquet")
    .replaceAll(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z?/g, "TIME")
    .replaceAll(/\b[12]\d{12}\b/g, "TIME")
    .replaceAll(/"(durationMs|committedAt)":\d+/g, '"$1":0');
}
