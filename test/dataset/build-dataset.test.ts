import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { type BuildOptions, type BuildReport, buildDataset } from "../../src/dataset/build-dataset.js";
import { planDataset } from "../../src/dataset/plan-dataset.js";
import { DATASET_FORMATS, type DatasetDefinition, defineDataset, MASKS } from "../../src/dataset/spec.js";
import { listDatasets } from "../../src/dataset/store/dataset-folder.js";
import { isSound, verifyDataset } from "../../src/dataset/store/verify-dataset.js";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, openSession, temporaryFolder } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { pickFrom, SWEEP } from "../sweep.js";
import { DAYS, END, grow, lakeIn, lakeUntil, UNIVERSE } from "./growing-lake.js";

const FROM = DAYS[60] as TradingDate;
/** Lakes that end there are those of the command's tests, too. */
const EARLY = DAYS[120] as TradingDate;
const MIDDLE = DAYS[220] as TradingDate;
const AFTER = DAYS[221] as TradingDate;

const FIELDS = ["open", "high", "low", "close", { name: "volume", sql: "shares" }, "amount", "factor"];
const definition = (changes: Partial<DatasetDefinition>): DatasetDefinition => ({
  name: "test",
  universe: { region: "CN" },
  from: FROM,
  fields: FIELDS,
  fill: { method: "forward", limit: 3 },
  minHistory: 20,
  masks: [],
  ...changes,
});

/** All files of a folder with their bytes in hexadecimal digits, except the time at which it was made. */
function bytesOf(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = files
    .map((one) => join(one.parentPath, one.name))
    .filter((path) => !path.endsWith("manifest.json"));
  return new Map(paths.map((path) => [path.slice(folder.length), readFileSync(path).toString("hex")]));
}

describe("a dataset", () => {
  let early: Lake;
  let late: Lake;

  beforeAll(async () => {
    const folder = temporary();
    early = await lakeUntil(join(folder, "early"), MIDDLE, { minuteDays: 3 });
    late = await lakeIn(join(folder, "late"), [MIDDLE, END as TradingDate], { minuteDays: 3 });
  });

  /** A folder for all tests. */
  function temporary(): string {
    const folder = mkdtempSync(join(tmpdir(), "barlake-build-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  const build = (
    lake: Lake,
    changes: Partial<DatasetDefinition>,
    options: BuildOptions = {},
  ): Promise<BuildReport> => buildDataset(lake, defineDataset(definition(changes)), options);

  /** A binary format or one of rows, another one with another commit; a longer run takes them all. */
  const few = pickFrom(["qlib", "symbol-csv"] as const, 1) as readonly (typeof DATASET_FORMATS)[number][];
  // Beyond those of `npm test` the long tests have some of the others, by the commit.
  const others = DATASET_FORMATS.filter((format) => !few.includes(format));
  const formats = { few, more: pickFrom(others, 3), all: DATASET_FORMATS }[SWEEP];

  test.each(formats)("%s: the same bytes twice, and again when days are appended", async (format) => {
    const folder = temporaryFolder();
    const [grown, rebuilt] = [join(folder, "grown"), join(folder, "rebuilt")];
    const isTraded = format === "zipline-csvdir" || format === "lean";
    const what = {
      format,
      masks: [...MASKS],
      // Prices as traded come with files of ex-dates.
      ...(isTraded && { adjustment: "none" as const }),
      ...(format === "lean" && { universe: { region: "US" as const } }),
    };
    const first = await build(early, { ...what, output: grown });
    const again = await build(early, { ...what, output: rebuilt });
    expect(again.content).toBe(first.content);
    expect(bytesOf(rebuilt)).toEqual(bytesOf(grown));
    expect(first.last).toBe(MIDDLE);

    const appended = await build(late, { ...what, output: grown }, { existing: "append" });
    const whole = await build(late, { ...what, output: rebuilt }, { existing: "replace" });
    expect(appended.content).toBe(whole.content);
    expect(bytesOf(grown)).toEqual(bytesOf(rebuilt));
    expect(appended.last > first.last).toBe(true);
    expect(appended.newRows).toBe(whole.rows - first.rows);
    expect(appended.newRows).toBeGreaterThan(0);
  });

  test.skipIf(SWEEP === "few")("of minutes, and of a universe, likewise", async () => {
    const folder = temporaryFolder();
    const all = Object.entries({
      qlibMinutes: { period: "1m", fields: ["close", "factor"], format: "qlib" },
      ranked: {
        fields: [
          { name: "r", sql: "rank() OVER (PARTITION BY trade_date ORDER BY amount)" },
          { name: "m", sql: "avg(close) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 9 PRECEDING)" },
        ],
        format: "wide-arrow",
      },
      minutes: { period: "5m", fields: ["close", "volume"], format: "long-parquet" },
      members: { universe: UNIVERSE, format: "qlib" },
    } satisfies Record<string, Partial<DatasetDefinition>>);
    for (const [name, changes] of all.slice(0, SWEEP === "few" ? 1 : all.length)) {
      const [grown, rebuilt] = [join(folder, name, "grown"), join(folder, name, "rebuilt")];
      await build(early, { ...changes, output: grown });
      const appended = await build(late, { ...changes, output: grown }, { existing: "append" });
      const whole = await build(late, { ...changes, output: rebuilt });
      expect(appended.content, name).toBe(whole.content);
    }
  });

  once("of the lake as of a day has that day's bytes", async () => {
    const folder = temporaryFolder();
    const was = await build(early, { output: join(folder, "was") });
    const pointInTime = {
      versions: new Map(Object.entries(was.tables).filter(([, version]) => version >= 0)),
    };
    const now = await build(late, { output: join(folder, "now") }, { pointInTime });
    expect(now.content).toBe(was.content);
    expect(now.tables).toEqual(was.tables);
  });

  test.skipIf(SWEEP === "few")("is sound until its files or its days change", async () => {
    const folder = temporaryFolder();
    const lake = await lakeUntil(join(folder, "lake"), MIDDLE, { minuteDays: 3 });
    const { folder: output } = await build(lake, { format: "qlib" });
    expect(output).toBe(join(lake.location, "datasets", "test", "qlib"));
    const sound = await verifyDataset(lake, output, { rebuild: true });
    expect(sound).toMatchObject({ damage: [], changes: [], otherwise: [], isReproduced: true });
    expect(isSound(sound)).toBe(true);
    expect(spawnSync("sha256sum", ["-c", "--quiet", "files.sha256"], { cwd: output }).status).toBe(0);

    // New days, and the same rows in other files, leave it as it is.
    await grow(lake, AFTER, DAYS[230] as TradingDate);
    using session = await Session.open();
    await optimize(session, lake, BARS_1D, { runId: "test" });
    const grown = await verifyDataset(lake, output, { rebuild: true });
    expect(grown.changes.find(({ table }) => table === "bars_1d")).toMatchObject({ was: 0, isNow: 0 });
    expect(isSound(grown)).toBe(true);

    const { manifest } = grown;
    const symbol = manifest.symbols[0] as string;
    const test1 = await openSession();
    const [bar] = await test1.json<{ ms: number }>(
      `SELECT CAST(epoch_ms(TIMESTAMP '${MIDDLE}') - 28800000 AS DOUBLE) AS ms`,
    );
    await land(
      test1,
      lake,
      BARS_1D,
      [{ symbol, at: bar?.ms as number, open: 3, high: 4, low: 2, close: 3 }],
      { lot: 100 },
    );
    const changed = await verifyDataset(lake, output, { rebuild: true });
    expect(changed.changes.find(({ table }) => table === "bars_1d")).toMatchObject({
      isNow: 1,
      examples: [`${symbol} ${MIDDLE}`],
    });
    expect(isSound(changed)).toBe(false);
    expect(changed.isReproduced).toBe(true);
    await expect(build(lake, { format: "qlib" }, { existing: "append" })).rejects.toThrow(
      /the lake has changed its days since: bars_1d/,
    );

    const [victim, gone] = [join(output, "calendars/day.txt"), join(output, "instruments/all.txt")];
    writeFileSync(victim, `${readFileSync(victim, "utf8")}2099-01-01\n`);
    rmSync(gone);
    writeFileSync(join(output, "mine.txt"), "");
    expect([...(await verifyDataset(lake, output)).damage].sort()).toEqual([
      "calendars/day.txt is not as it was written",
      "instruments/all.txt is gone",
      "mine.txt was not written with it",
    ]);
    const { tables: _, ...rest } = manifest;
    writeFileSync(join(output, "manifest.json"), JSON.stringify({ ...rest, symbols: 7 }));
    await expect(verifyDataset(lake, output)).rejects.toThrow(/manifest\.json: tables: .*; symbols: /);
  });

  once(
    "is not written over, but where that is asked for; and is not appended to where its days would change",
    async () => {
      const output = join(temporaryFolder(), "out");
      await build(early, { output });
      await expect(build(early, { output })).rejects.toThrow(/is there already/);
      await expect(build(early, { output, fields: ["close"] }, { existing: "append" })).rejects.toThrow(
        /had another fields/,
      );
      await build(early, { output, adjustment: "forward" }, { existing: "replace" });
      await expect(build(late, { output, adjustment: "forward" }, { existing: "append" })).rejects.toThrow(
        /forward prices of every day change/,
      );
      const other = temporaryFolder();
      writeFileSync(join(other, "precious.txt"), "mine");
      await expect(build(early, { output: other }, { existing: "replace" })).rejects.toThrow(
        /would delete: precious\.txt/,
      );
      await expect(build(early, { output: other })).rejects.toThrow(/is there, and no dataset/);
      expect(readdirSync(other)).toEqual(["precious.txt"]);
    },
  );

  once("built by two processes at once: one succeeds, the other gets an error", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "out");
    const ends = await Promise.allSettled([build(early, { output }), build(early, { output })]);
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []))[0]).toMatch(
      /is there already/,
    );
    expect(readdirSync(folder)).toEqual(["out"]);
    expect(isSound(await verifyDataset(early, output))).toBe(true);
  });

  once("shows whole or not at all, whenever a build ends", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "out");
    const stopped = new AbortController();
    const reason = new Error("stopped by hand");
    const onProgress = (): void => stopped.abort(reason);
    await expect(build(early, { output }, { signal: stopped.signal, onProgress })).rejects.toBe(reason);
    // An interrupted statement says no more than that.
    await expect(build(early, { output }, { signal: stopped.signal, verify: false })).rejects.toBe(reason);
    expect(readdirSync(folder)).toEqual([]);

    const { content } = await build(early, { output });
    // As a crash leaves it between two renames, next to the draft of a dead process.
    renameSync(output, join(folder, `.out.old-${hostname()}-999999999-00000000-0000-0000-0000-000000000000`));
    mkdirSync(join(folder, `.out.draft-${hostname()}-999999999-00000000-0000-0000-0000-000000000000`));
    await expect(build(early, { output })).rejects.toThrow(/is there already/);
    expect(readdirSync(folder)).toEqual(["out"]);
    expect((await verifyDataset(early, output)).manifest.content).toBe(content);
  });

  once("is planned before: rows, bytes, and what to know of it", async () => {
    const spec = defineDataset(
      definition({
        universe: {
          sql: "SELECT symbol FROM instruments WHERE region = 'CN' UNION ALL SELECT 'NOBODY.SH'",
        },
        fields: [
          "close",
          { name: "pb", sql: "price_to_book" },
          {
            name: "tomorrow",
            sql: "lead(close) OVER (PARTITION BY symbol ORDER BY trade_date)",
            looksAhead: true,
          },
        ],
        adjustment: "forward",
        format: "symbol-csv",
      }),
    );
    const plan = await planDataset(early, spec);
    expect(existsSync(plan.folder)).toBe(false);
    expect(plan.absent).toContain("NOBODY.SH");
    expect(plan.fields.map(({ name, nulls }) => [name, nulls > 0])).toEqual([
      ["close", false],
      ["pb", true],
      ["tomorrow", true],
    ]);
    const warnings = plan.warnings.join("\n");
    for (const words of [
      /no bar with trades/,
      /query of your own/,
      /forward prices/,
      /tomorrow looks ahead/,
      /field pb has no value/,
    ])
      expect(warnings).toMatch(words);
    const { rows, bytes } = await buildDataset(early, { ...spec, output: join(temporaryFolder(), "out") });
    expect(plan.rows).toBe(rows);
    expect(plan.bytes / bytes).toBeGreaterThan(0.5);
    expect(plan.bytes / bytes).toBeLessThan(2);
  });

  test.skipIf(SWEEP === "few")("of a universe from before its first snapshot says so", async () => {
    const region = { region: "CN" as const, types: ["stock"] };
    const of = (universe: typeof UNIVERSE | typeof region) =>
      defineDataset(definition({ universe, from: "2020-01-01" }));
    for (const universe of [UNIVERSE, region])
      expect((await planDataset(early, of(universe))).warnings.join()).not.toMatch(/first seen/);
    const lake = new Lake(join(temporaryFolder(), "lake"));
    await grow(lake, DAYS[30] as TradingDate, DAYS[55] as TradingDate, { statements: false });
    const before = { reference: false, statements: false };
    await grow(lake, DAYS[0] as TradingDate, DAYS[29] as TradingDate, before);
    const plan = await planDataset(lake, of(UNIVERSE));
    expect(plan.first < (DAYS[30] as string)).toBe(true);
    expect(plan.warnings.join()).toMatch(/the members of the universe are on record from/);
    expect((await planDataset(lake, of(region))).warnings.join()).toMatch(
      /the instruments of CN were first seen on .*: what was delisted before is missing/,
    );
  });

  once("names no file by what another program wrote as a symbol", async () => {
    const place = temporaryFolder();
    const lake = await lakeUntil(join(place, "lake"), EARLY);
    using session = await openSession();
    const at = `${EARLY}T00:00:00Z`;
    await land(session, lake, BARS_1D, [{ symbol: "x/../../../odd.SH", at }]);
    await expect(
      build(lake, { format: "symbol-csv", minHistory: 0, output: join(place, "out") }),
    ).rejects.toThrow('symbol "x/../../../odd.SH" is not of the form <code>.<exchange suffix>');
    expect(readdirSync(place)).toEqual(["lake"]);
  });

  once("in the lake's own folder is listed", async () => {
    const lake = await lakeUntil(join(temporaryFolder(), "lake"), EARLY);
    onTestFinished(() => rmSync(lake.location, { recursive: true }));
    expect(await listDatasets(lake)).toEqual([]);
    await build(lake, { format: "qlib" });
    await build(lake, { format: "long-arrow" });
    mkdirSync(join(lake.location, "datasets", "test", "broken"));
    writeFileSync(join(lake.location, "datasets", "test", "broken", "manifest.json"), "{");
    expect(
      (await listDatasets(lake)).map(({ manifest, fault }) => [manifest?.spec.format, fault !== undefined]),
    ).toEqual([
      [undefined, true],
      ["long-arrow", false],
      ["qlib", false],
    ]);
  });
});
