import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import {
  type BuildOptions,
  type BuildReport,
  buildDataset,
  buildOfBlocks,
} from "../../../../src/dataset/build-dataset.js";
import type { BlockOptions } from "../../../../src/dataset/panel/block.js";
import { BLOCKS } from "../../../../src/dataset/panel/lake-panel.js";
import { type DatasetDefinition, defineDataset } from "../../../../src/dataset/spec.js";
import { isSound, verifyDataset } from "../../../../src/dataset/store/verify-dataset.js";
import { Session } from "../../../../src/db/session/session.js";
import { Lake } from "../../../../src/lake/lake.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, type TestBar, temporaryFolder } from "../../../lake/temporary-lake.js";
import { once } from "../../../once.js";
import { pickCases, pickFrom, SWEEP } from "../../../sweep.js";
import { weekdays } from "../../weekdays.js";

const PROGRAM = fileURLToPath(new URL("mortal-build.mjs", import.meta.url));

const DAYS = weekdays("2024-11-01", "2025-03-14");
/** The last day of the dataset that is appended to. */
const BEFORE = "2025-02-14";
const LINKED = /year=2024/;

/** A symbol's bars of some days, with an ex-date in every tenth. */
function barsOf(symbol: string, days: readonly string[]): TestBar[] {
  return days.map((day, n) => ({
    symbol,
    at: `${day}T00:00:00+08:00`,
    open: 10 + (n % 7),
    high: 20,
    low: 5,
    close: 11 + (n % 5),
    volume: 100 + n,
    prevClose: n === 0 ? 10 : (11 + ((n - 1) % 5)) * (n % 10 === 0 ? 0.9 : 1),
  }));
}

const always = (symbol: string): TestBar[] => barsOf(symbol, DAYS);
const STEADY = Array.from({ length: 18 }, (_, n) => `6000${String(n + 10)}.SH`);
/** Its trades end before the dataset does. */
const GONE = barsOf("600001.SH", weekdays("2024-11-01", "2024-12-06"));
const GONE_LAST = barsOf("600999.SH", weekdays("2024-11-01", "2024-12-06"));
/** It pauses from a day in 2024 to one that is appended. */
const PAUSED = barsOf("600002.SH", [
  ...weekdays("2024-11-01", "2024-12-10"),
  ...weekdays("2025-02-20", "2025-03-14"),
]);
/** It pauses over the turn of the year, and trades again before the dataset ends. */
const RESTED = barsOf("600003.SH", [
  ...weekdays("2024-11-01", "2024-12-27"),
  ...weekdays("2025-01-06", "2025-03-14"),
]);
/** Its first trade is on a day that is appended. */
const NEW = barsOf("600020.SZ", weekdays("2025-03-03", "2025-03-14"));

const PRICES = ["open", "close", "vwap", "volume", "adjusted_volume", "factor"];
/** Blocks of at most 8 symbols, with these fields and all masks, before and after the days are appended; some are read together. */
const SMALL: BlockOptions = { ...BLOCKS, parts: "stable", bytes: 60_000, readBytes: 200_000 };

describe("days that are appended to long-parquet", () => {
  let place: string;

  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), "barlake-kept-"));
    return () => rmSync(place, { recursive: true, force: true });
  });

  /**
   * Makes a lake that grew in two steps; with `middle`, the first one is two, of which the later days came first. The
   * bars of `unfinal` came before both, and are not final.
   */
  async function lakeOf(
    name: string,
    bars: readonly TestBar[],
    { middle, unfinal }: { readonly middle?: string; readonly unfinal?: readonly TestBar[] } = {},
  ): Promise<Lake> {
    const lake = new Lake(join(place, name), { hasDatabase: false });
    using session = await Session.open({ threads: 1 });
    const between = (from: string, to: string): TestBar[] =>
      bars.filter(({ at }) => String(at).slice(0, 10) > from && String(at).slice(0, 10) <= to);
    const first =
      middle === undefined
        ? [["", BEFORE]]
        : [
            [middle, BEFORE],
            ["", middle],
          ];
    const options = { lot: 100, now: Date.parse("2025-06-01T00:00:00Z") };
    if (unfinal)
      await land(session, lake, BARS_1D, unfinal, { ...options, finalEnd: { CN: 0, HK: 0, US: 0 } });
    for (const some of [...first, [BEFORE, "9999"]].map(([from = "", to = ""]) => between(from, to)))
      await land(session, lake, BARS_1D, some, options);
    return lake;
  }

  const definition = (output: string, more: Partial<DatasetDefinition> = {}): DatasetDefinition => ({
    name: "kept",
    universe: { region: "CN" },
    from: "2024-11-01",
    format: "long-parquet",
    output,
    ...more,
  });
  const FIRST = { pointInTime: { versions: new Map([["bars_1d", 0]]) } };

  /** The files of a dataset: what identifies each, and its bytes. */
  function filesOf(folder: string): Map<string, { readonly id: number; readonly bytes: string }> {
    const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(".parquet") || path.endsWith(".sha256"),
    );
    const of = (path: string) => ({
      id: statSync(join(folder, path)).ino,
      bytes: readFileSync(join(folder, path)).toString("base64"),
    });
    return new Map(paths.map((path) => [path, of(path)]));
  }

  /** Appends, and builds the whole. @returns the files that were taken over, and all that a part of the path selects */
  async function grown(
    lake: Lake,
    more: Partial<DatasetDefinition> = {},
    { blocks, version = 0 }: { readonly blocks?: BlockOptions; readonly version?: number } = {},
  ) {
    const folder = temporaryFolder();
    const [one, whole] = [join(folder, "one"), join(folder, "whole")];
    const build = (output: string, options: BuildOptions): Promise<BuildReport> => {
      const spec = defineDataset(definition(output, more));
      return blocks === undefined
        ? buildDataset(lake, spec, options)
        : buildOfBlocks(lake, spec, options, blocks);
    };
    await build(one, { pointInTime: { versions: new Map([["bars_1d", version]]) } });
    const before = filesOf(one);
    const appended = await build(one, { existing: "append" });
    const built = await build(whole, {});
    const [now, expected] = [filesOf(one), filesOf(whole)];
    expect([...now.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [path, { bytes }] of expected) expect(now.get(path)?.bytes === bytes, path).toBe(true);
    expect(appended.content).toBe(built.content);
    expect([appended.rows, appended.past]).toEqual([built.rows, built.past]);
    expect(isSound(await verifyDataset(lake, one))).toBe(true);
    const ids = new Set([...before.values()].map(({ id }) => id));
    const taken = [...now].filter(([, { id }]) => ids.has(id)).map(([path]) => path);
    return { taken, all: [...now.keys()], rows: appended.newRows, content: appended.content };
  }

  const FILLS = { without: {}, with: { fill: { method: "forward", limit: 4 }, minHistory: 40 } } as const;

  const forms = [
    ["without a fill, adjusted backward", FILLS.without, "backward"],
    ["filled, with a least history, as traded", FILLS.with, "none"],
    ["filled, with a least history, adjusted backward", FILLS.with, "backward"],
  ] as const;
  test.each(pickFrom(forms, { few: 1, more: 3, all: 3 }))(
    "%s: files of earlier years remain, and all bytes are those of a build",
    async (_, more, adjustment) => {
      const lake = await lakeOf(`steady-${_.length}`, [
        ...STEADY.slice(0, 3).flatMap(always),
        ...GONE,
        ...RESTED,
      ]);
      const { taken, all, rows } = await grown(lake, { ...more, adjustment, fields: PRICES });
      expect(taken).toEqual(all.filter((path) => LINKED.test(path)));
      expect(taken.length).toBeGreaterThan(0);
      expect(rows).toBe(4 * weekdays("2025-02-17", "2025-03-14").length);
    },
  );

  test("a symbol that trades again, or is new, changes the earlier files of its block, and no others", async () => {
    const steady = STEADY.flatMap(always);
    const more = { ...FILLS.with, fields: PRICES };
    const still = await grown(await lakeOf("still", steady), more, { blocks: SMALL });
    expect(still.taken).toEqual(still.all.filter((path) => LINKED.test(path)));
    expect(still.taken.length).toBeGreaterThan(1);
    const changes = Object.entries({ paused: PAUSED, new: NEW });
    for (const [name, bars] of pickFrom(changes, { few: 1, more: 2, all: 2 })) {
      const { taken, all } = await grown(await lakeOf(name, [...steady, ...bars]), more, { blocks: SMALL });
      const earlier = all.filter((path) => LINKED.test(path));
      expect(taken.length, name).toBeLessThan(earlier.length);
      expect(taken.length, name).toBeGreaterThan(0);
    }
  });

  test("of bars whose files are not in the order of their days, likewise", async () => {
    const bars = [...STEADY.slice(0, 12).flatMap(always), ...RESTED];
    const lake = await lakeOf("disordered", bars, { middle: "2024-12-05" });
    const more = { ...FILLS.with, fields: PRICES };
    const { taken, all, content } = await grown(lake, more, { blocks: SMALL, version: 1 });
    expect(taken).toEqual(all.filter((path) => LINKED.test(path)));
    expect(taken.length).toBeGreaterThan(1);
    if (SWEEP === "few") return;
    const ordered = await grown(await lakeOf("ordered", bars), more, { blocks: SMALL });
    expect(content).toBe(ordered.content);
  });

  once("nothing is taken over where fields see other rows", async () => {
    const lake = await lakeOf("means", STEADY.slice(0, 2).flatMap(always));
    const fields = [{ name: "mean", sql: "avg(close) OVER (PARTITION BY symbol ORDER BY trade_date)" }];
    expect((await grown(lake, { fields })).taken).toEqual([]);
  });

  once("bars that are not final, or on no session, count as no history after the first label", async () => {
    const early = barsOf("600020.SZ", weekdays("2024-12-02", "2024-12-13"));
    const late = barsOf("600020.SZ", weekdays("2025-01-01", "2025-03-14"));
    const saturdays = ["2024-11-02", "2024-11-09", "2024-11-16", "2024-11-23", "2024-11-30"];
    const abroad = barsOf("00700.HK", [...saturdays, ...weekdays("2025-01-01", "2025-03-14")]);
    const lake = await lakeOf("unfinal", [...STEADY.slice(0, 3).flatMap(always), ...late, ...abroad], {
      unfinal: early,
    });
    const universe = [...STEADY.slice(0, 3), "600020.SZ", "00700.HK"];
    const more = { calendar: "CN", universe, minHistory: 40, fields: PRICES } as const;
    const { taken, all } = await grown(lake, more, { version: 1 });
    expect(taken).toEqual(all.filter((path) => LINKED.test(path)));
    expect(taken.length).toBeGreaterThan(0);
  });

  once("the progress ends with all symbols, also where the last blocks are kept", async () => {
    const lake = await lakeOf("progress", [...STEADY.slice(0, 2).flatMap(always), ...GONE_LAST]);
    const spec = defineDataset(definition(join(temporaryFolder(), "out")));
    const blocks = { ...SMALL, bytes: 1 };
    await buildOfBlocks(lake, spec, FIRST, blocks);
    const steps: number[] = [];
    const onProgress: BuildOptions["onProgress"] = ({ symbols, of }) => steps.push(symbols / of);
    await buildOfBlocks(lake, spec, { existing: "append", onProgress }, blocks);
    expect(steps).toEqual([1 / 3, 2 / 3, 1]);
  });

  test.skipIf(SWEEP === "few")("a symbol without a trade on any session has no rows", async () => {
    const lake = await lakeOf("saturday", [
      ...STEADY.slice(0, 3).flatMap(always),
      ...barsOf("00700.HK", ["2024-11-09"]),
    ]);
    const universe = [...STEADY.slice(0, 3), "00700.HK"];
    const { rows } = await grown(lake, { calendar: "CN", universe }, { blocks: { ...SMALL, bytes: 1 } });
    expect(rows).toBe(3 * weekdays("2025-02-17", "2025-03-14").length);
  });

  once("a dataset of one lake is neither appended to from another one, nor sound there", async () => {
    const bars = STEADY.slice(0, 2).flatMap(always);
    const [one, other] = [
      await lakeOf("one", bars),
      await lakeOf(
        "other",
        bars.map((bar) => ({ ...bar, open: 5.5 })),
      ),
    ];
    const folder = join(temporaryFolder(), "out");
    const spec = defineDataset(definition(folder));
    await buildDataset(one, spec, FIRST);
    const before = filesOf(folder);
    await expect(buildDataset(other, spec, { existing: "append" })).rejects.toThrow(
      /bars_1d went from version 0 to 1; what changed in it cannot be determined: under the version .* other rows/,
    );
    // The same version, too, is another one there.
    await expect(buildDataset(other, spec, { existing: "append", ...FIRST })).rejects.toThrow(
      /bars_1d is at version 0; .* other rows/,
    );
    expect(filesOf(folder)).toEqual(before);
    expect(isSound(await verifyDataset(other, folder))).toBe(false);
    expect(isSound(await verifyDataset(one, folder))).toBe(true);
  });

  once(
    "a copy of the lake counts as the same; of a dataset without digests of the lake nothing is taken over",
    async () => {
      const lake = await lakeOf("copied", STEADY.slice(0, 2).flatMap(always));
      const folder = join(temporaryFolder(), "out");
      const spec = defineDataset(definition(folder));
      await buildDataset(lake, spec, FIRST);
      const early = filesOf(folder);
      const idOf = (files: typeof early): number[] =>
        [...files].flatMap(([path, { id }]) => (LINKED.test(path) ? [id] : []));
      const copy = join(place, "copy");
      cpSync(lake.location, copy, { recursive: true });
      const appended = await buildDataset(new Lake(copy, { hasDatabase: false }), spec, {
        existing: "append",
      });
      const taken = filesOf(folder);
      expect(idOf(taken)).toEqual(idOf(early));

      const { sources, ...manifest } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
      expect(sources.bars_1d).toHaveLength(64);
      writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
      const again = await buildDataset(lake, spec, { existing: "append" });
      expect(again.content).toBe(appended.content);
      expect(idOf(filesOf(folder))).not.toEqual(idOf(taken));
    },
  );

  test.each(pickFrom(["long-parquet", "qlib"] as const, { few: 1, more: 2, all: 2 }))(
    "a process that is killed leaves %s as before or after it, and the next one appends",
    async (format) => {
      const lake = await lakeOf(`killed-${format}`, [
        ...STEADY.slice(0, 3).flatMap(always),
        ...RESTED,
        ...NEW,
      ]);
      const definitionOf = (output: string): DatasetDefinition => ({ ...definition(output), format });
      const folder = temporaryFolder();
      const [early, whole, output] = ["early", "whole", "out"].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      const first = await buildDataset(lake, defineDataset(definitionOf(early)), FIRST);
      const last = await buildDataset(lake, defineDataset(definitionOf(whole)));
      const append = (kill?: number) => {
        const order = {
          lake: lake.location,
          definition: definitionOf(output),
          options: { existing: "append" },
          kill,
        };
        return spawnSync(process.execPath, [PROGRAM, JSON.stringify(order)], { encoding: "utf8" });
      };
      const begin = (): void => {
        rmSync(output, { recursive: true, force: true });
        cpSync(early, output, { recursive: true });
      };
      begin();
      const { stdout, stderr } = append();
      expect(stderr).toBe("");
      const { changes, renames } = JSON.parse(stdout) as {
        changes: number;
        renames: [number, number, ...number[]];
      };
      expect(changes).toBeGreaterThan(6);
      expect((await verifyDataset(lake, output)).manifest.content).toBe(last.content);
      const [begin0, between] = renames;
      const later = format === "qlib" ? (renames.at(-1) as number) : between + 3;
      // Between the renames; of more kills also before them, and at the last ones or while the earlier dataset is deleted.
      const pinned = [between, ...(SWEEP === "few" ? [] : [begin0, later])];
      for (const kill of pickCases(changes, { few: 1, more: 6, all: changes }, pinned)) {
        begin();
        expect(append(kill).signal, String(kill)).toBe("SIGKILL");
        // A folder that was moved away is restored by the next process.
        const appended = await buildDataset(lake, defineDataset(definitionOf(output)), {
          existing: "append",
        });
        expect(appended.content, String(kill)).toBe(last.content);
        expect(isSound(await verifyDataset(lake, output)), String(kill)).toBe(true);
        expect(readdirSync(folder).sort(), String(kill)).toEqual(["early", "out", "whole"]);
        expect(appended.newRows === 0 || appended.newRows === last.rows - first.rows, String(kill)).toBe(
          true,
        );
      }
    },
  );
});
