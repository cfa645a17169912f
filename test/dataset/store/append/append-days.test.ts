import { createHash } from "node:crypto";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { type BuildReport, buildDataset } from "../../../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset, MASKS } from "../../../../src/dataset/spec.js";
import { claimPrefix } from "../../../../src/dataset/store/dataset-prefix.js";
import { isSound, verifyDataset } from "../../../../src/dataset/store/verify-dataset.js";
import { literal } from "../../../../src/db/quote.js";
import { Session } from "../../../../src/db/session/session.js";
import { Lake } from "../../../../src/lake/lake.js";
import { filesUnder } from "../../../../src/lake/local/local-files.js";
import { optimize } from "../../../../src/lake/maintenance/optimize.js";
import { thisProcess } from "../../../../src/lease/owner.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, type TestBar, temporaryFolder } from "../../../lake/temporary-lake.js";
import { once } from "../../../once.js";
import { pickFrom, SWEEP } from "../../../sweep.js";
import { weekdays } from "../../weekdays.js";

const STATE = "append-state.bin";

const DAYS = weekdays("2024-11-01", "2025-01-06");
/** The last day of the dataset that is appended to; the turn of the year follows. */
const BEFORE = "2024-12-27";
const APPENDED = DAYS.filter((day) => day > BEFORE);

/** A symbol's bars of some days. The stated previous close of every seventh, from one of them on, is another one. */
function barsOf(
  symbol: string,
  days: readonly string[],
  from = 0,
  halted: readonly string[] = [],
): TestBar[] {
  return days.map((day, n) => ({
    symbol,
    at: `${day}T00:00:00+08:00`,
    open: 10 + (n % 7),
    high: 20,
    low: 5,
    close: 11 + (n % 5),
    volume: halted.includes(day) ? 0 : 100 + n,
    prevClose: n === 0 ? 10 : (11 + ((n - 1) % 5)) * (n % 7 === from ? 0.9 : 1),
  }));
}

const without = (from: string, to: string): string[] => DAYS.filter((day) => day < from || day > to);
const BARS: readonly TestBar[] = [
  ...[0, 1, 2, 3, 4, 5, 6].flatMap((n) => barsOf(`60010${n}.SH`, DAYS, n)),
  // Bars without trades, with ex-dates among them, before the days that are appended, across their beginning, among them.
  ...barsOf("600200.SH", DAYS, 1, weekdays("2024-12-02", "2024-12-13")),
  ...barsOf("600201.SH", DAYS, 2, weekdays("2024-12-20", "2024-12-31")),
  ...barsOf("600202.SH", DAYS, 3, weekdays("2025-01-01", "2025-01-03")),
  ...barsOf("600203.SH", DAYS, 4, weekdays("2024-12-16", "2025-01-06")),
  // No bars for some time.
  ...barsOf("600300.SH", without("2024-12-20", "2024-12-31"), 5),
  ...barsOf("600301.SH", without("2024-11-20", "2025-01-01"), 6),
  // Delisted before, and in the middle.
  ...barsOf("600001.SH", weekdays("2024-11-01", "2024-12-06")),
  ...barsOf("600999.SH", weekdays("2024-11-01", "2024-12-30"), 1),
  // Listed shortly before, and in the middle.
  ...barsOf("600150.SH", weekdays("2024-12-24", "2025-01-06"), 2),
  ...barsOf("600250.SH", weekdays("2025-01-01", "2025-01-06"), 3),
  ...barsOf("000001.SZ", weekdays("2025-01-02", "2025-01-06"), 1),
];

describe("days that are appended one after the other", () => {
  let place: string;
  let lake: Lake;

  beforeAll(async () => {
    place = mkdtempSync(join(tmpdir(), "barlake-append-"));
    lake = new Lake(join(place, "lake"), { hasDatabase: false });
    using session = await Session.open({ threads: 1 });
    const dayOf = ({ at }: TestBar): string => String(at).slice(0, 10);
    const steps = [BARS.filter((bar) => dayOf(bar) <= BEFORE)];
    for (const day of APPENDED) steps.push(BARS.filter((bar) => dayOf(bar) === day));
    for (const bars of steps)
      await land(session, lake, BARS_1D, bars, { lot: 100, now: Date.parse("2025-06-01T00:00:00Z") });
    return () => rmSync(place, { recursive: true, force: true });
  });

  const definition = (output: string, more: Partial<DatasetDefinition>): DatasetDefinition => ({
    name: "days",
    universe: { region: "CN" },
    from: "2024-11-05",
    format: "qlib",
    fields: ["open", "close", "prev_close", "vwap", "volume", "adjusted_volume", "factor"],
    masks: [],
    output,
    ...more,
  });
  /** Builds, or appends, up to a version of the bars. */
  const build = (
    output: string,
    version: number,
    more: Partial<DatasetDefinition>,
    existing: "refuse" | "append" = "refuse",
  ): Promise<BuildReport> =>
    buildDataset(lake, defineDataset(definition(output, more)), {
      existing,
      pointInTime: { versions: new Map([["bars_1d", version]]) },
    });

  /** A symbol is a member once it has 38 bars: then its earlier days are new, too. */
  const JOINING = { sql: "SELECT symbol FROM bars_1d GROUP BY symbol HAVING count(*) >= 38" };
  const FILLED: Partial<DatasetDefinition> = {
    fill: { method: "forward", limit: 4 },
    minHistory: 20,
    masks: [...MASKS],
  };
  const KINDS = {
    "qlib, adjusted backward": {},
    "qlib, filled, with a least history and all masks": FILLED,
    "qlib, as traded, of a universe that grows": { universe: JOINING, adjustment: "none" },
    "long-parquet, adjusted backward, of a universe that grows": {
      format: "long-parquet",
      universe: JOINING,
    },
    "long-parquet, filled, with a least history and all masks": { ...FILLED, format: "long-parquet" },
  } satisfies Record<string, Partial<DatasetDefinition>>;

  test.each(pickFrom(Object.entries<Partial<DatasetDefinition>>(KINDS), { few: 1, more: 5, all: 5 }, [1]))(
    "%s: all bytes are those of a build",
    async (_, more) => {
      const folder = temporaryFolder();
      await build(join(folder, "days"), 0, more);
      let rows = 0;
      for (const [n] of APPENDED.entries()) {
        const appended = await build(join(folder, "days"), n + 1, more, "append");
        rows += appended.newRows;
        // The bytes of a day are in the files of the later ones, too.
        if (SWEEP === "few" && n < APPENDED.length - 1) continue;
        const whole = await build(join(folder, `whole-${n}`), n + 1, more);
        expect(appended.content, APPENDED[n]).toBe(whole.content);
        const facts = (report: BuildReport) => [
          report.rows,
          report.symbols,
          report.warnings,
          report.unvouched,
        ];
        expect(facts(appended), APPENDED[n]).toEqual(facts(whole));
      }
      expect(rows).toBeGreaterThan(APPENDED.length * 9);
      expect(isSound(await verifyDataset(lake, join(folder, "days")))).toBe(true);
      // Several days at once.
      await build(join(folder, "once"), 1, more);
      const atOnce = await build(join(folder, "once"), APPENDED.length, more, "append");
      expect(
        readFileSync(join(folder, "once", STATE)).equals(readFileSync(join(folder, "days", STATE))),
      ).toBe(true);
      expect(isSound(await verifyDataset(lake, join(folder, "once")))).toBe(true);
      expect(atOnce.content).toBe((await verifyDataset(lake, join(folder, "days"))).manifest.content);
    },
  );

  /** Makes the list of files, and its digest, those of the files that are there. */
  function sign(folder: string): void {
    const [list, manifest] = [join(folder, "files.sha256"), join(folder, "manifest.json")];
    const lines = readFileSync(list, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => {
        if (line.startsWith("#")) return `${line}\n`;
        const bytes = readFileSync(join(folder, line.slice(66)));
        return `${createHash("sha256").update(bytes).digest("hex")}  ${line.slice(66)}\n`;
      });
    writeFileSync(list, lines.join(""));
    const content = createHash("sha256").update(lines.join("")).digest("hex");
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), content }));
  }

  /** Changes a file, by default by one bit of a byte from its end. */
  function change(
    path: string,
    edit = (bytes: Buffer) => void (bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1),
  ): void {
    const bytes = readFileSync(path);
    edit(bytes);
    writeFileSync(path, bytes);
  }

  const listFiles = async (folder: string): Promise<string[]> =>
    (await filesUnder(folder)).map(({ path }) => path).sort();

  const FORMATS = [{ format: "qlib" }, { format: "long-parquet" }] as const;

  const formats = pickFrom(FORMATS, { few: 1, more: 2, all: 2 });

  test.each(formats)(
    "a state that is missing, damaged or of another layout is not used, and the bytes are the same: $format",
    async (more) => {
      const folder = temporaryFolder();
      const [first, out] = [join(folder, "first"), join(folder, "out")];
      await build(first, 0, more);
      const whole = await build(join(folder, "whole"), 2, more);
      const harms: Record<string, () => void> = {
        missing: () => rmSync(join(out, STATE)),
        damaged: () => change(join(out, STATE)),
        "cut off": () => writeFileSync(join(out, STATE), readFileSync(join(out, STATE)).subarray(0, 100)),
        "of another layout": () => {
          change(join(out, STATE), (bytes) => void bytes.writeInt32LE(2, 4));
          sign(out);
        },
        "of other numbers of changes than it says": () => {
          change(join(out, STATE), (bytes) => {
            const [symbols, changes] = [bytes.readInt32LE(8), bytes.readInt32LE(12)];
            const ends = 16 + 16 * symbols + 8 * changes + 5 * 4 * symbols;
            for (let at = 0; at < symbols; at++) bytes.writeInt32LE(1, ends + 4 * at);
          });
          sign(out);
        },
        "of an earlier release": () => {
          rmSync(join(out, STATE));
          const list = readFileSync(join(out, "files.sha256"), "utf8");
          writeFileSync(join(out, "files.sha256"), list.replace(new RegExp(`.*${STATE}\n`), ""));
          sign(out);
        },
      };
      for (const [harm, make] of pickFrom(Object.entries(harms), { few: 2, more: 6, all: 6 })) {
        cpSync(first, out, { recursive: true });
        make();
        const appended = await build(out, 2, more, "append");
        expect(appended.content, harm).toBe(whole.content);
        expect(isSound(await verifyDataset(lake, out)), harm).toBe(true);
        rmSync(out, { recursive: true });
      }
      // It is used where it is whole: another factor of each symbol is seen.
      cpSync(first, out, { recursive: true });
      change(join(out, STATE), (bytes) => {
        const symbols = bytes.readInt32LE(8);
        const [factors, changes] = [16 + 8 * symbols, bytes.readInt32LE(12)];
        for (let at = 0; at < symbols; at++) bytes.writeDoubleLE(7, factors + 8 * at);
        for (let at = 0; at < changes; at++) bytes.writeDoubleLE(7, factors + 8 * symbols + 8 * at);
      });
      sign(out);
      expect((await build(out, 2, more, "append")).content).not.toBe(whole.content);
    },
  );

  once("a damaged or missing file of long-parquet is written again", async () => {
    const folder = temporaryFolder();
    const [first, out] = [join(folder, "first"), join(folder, "out")];
    const more = { format: "long-parquet" } as const;
    await build(first, 0, more);
    const whole = await build(join(folder, "whole"), 2, more);
    const victims = readdirSync(first, { recursive: true, encoding: "utf8" }).filter((path) =>
      /2024.*parquet$/.test(path),
    );
    for (const [victim = "", harm] of [
      [victims[0], change],
      [victims.at(-1), rmSync],
    ] as const) {
      cpSync(first, out, { recursive: true });
      harm(join(out, victim));
      const appended = await build(out, 2, more, "append");
      expect(appended.content, victim).toBe(whole.content);
      expect(isSound(await verifyDataset(lake, out)), victim).toBe(true);
      rmSync(out, { recursive: true });
    }
  });

  once(
    "a missing or short file of qlib is written again, and damage before a new cell stays found",
    async () => {
      const folder = temporaryFolder();
      const [first, out] = [join(folder, "first"), join(folder, "out")];
      await build(first, 0, {});
      const whole = await build(join(folder, "whole"), 2, {});
      const victim = "features/sh600106/close.day.bin";
      const cut = (path: string): void => truncateSync(path, statSync(path).size - 2);
      for (const harm of [rmSync, cut, change]) {
        cpSync(first, out, { recursive: true });
        harm(join(out, victim));
        expect((await build(out, 2, {}, "append")).content).toBe(whole.content);
        const { damage } = await verifyDataset(lake, out);
        expect(damage).toEqual(harm === change ? [`${victim} is not as it was written`] : []);
        rmSync(out, { recursive: true });
      }
    },
  );

  once(
    "of an append that was stopped readers see the days before it, and the next one mends it",
    async () => {
      const folder = temporaryFolder();
      const [first, out, later] = [join(folder, "first"), join(folder, "out"), join(folder, "later")];
      const early = await build(first, 0, FILLED);
      const whole = await build(join(folder, "whole"), 2, FILLED);
      await build(later, 4, FILLED);
      const files = (await listFiles(first)).filter(
        (path) => path.endsWith(".bin") && path.startsWith("features/"),
      );
      expect(files.length).toBeGreaterThan(100);
      // Of a process that is gone, and of one that runs on after its build has failed.
      const marks = [
        { ...thisProcess(), pid: 2 ** 22 + 1, id: "gone" },
        { ...thisProcess(), pid: process.ppid, id: "failed", hasEnded: true },
      ];
      for (const [n, source] of [join(folder, "whole"), later].entries()) {
        cpSync(first, out, { recursive: true });
        // Some files have got their cells, one of them a part of a cell, and others not yet.
        for (const path of files.filter((_, at) => at % 3 > 0)) cpSync(join(source, path), join(out, path));
        const [torn = ""] = files.filter((path) => path.includes("sh600106"));
        cpSync(join(source, torn), join(out, torn));
        truncateSync(join(out, torn), statSync(join(first, torn)).size + 3);
        expect(isSound(await verifyDataset(lake, out))).toBe(false);
        writeFileSync(join(out, "unfinished.json"), JSON.stringify(marks[n]));
        const found = await verifyDataset(lake, out);
        expect(isSound(found)).toBe(true);
        expect(found.manifest.content).toBe(early.content);
        expect(found.otherwise.join()).toMatch(
          /an append by process .* was stopped: the next one overwrites/,
        );
        const appended = await build(out, 2, FILLED, "append");
        expect(appended.content).toBe(whole.content);
        expect(await listFiles(out)).toEqual(await listFiles(join(folder, "whole")));
        expect(isSound(await verifyDataset(lake, out))).toBe(true);
        rmSync(out, { recursive: true });
      }
    },
  );

  once(
    "while a build changes a dataset it is neither changed by others nor read, nor when it has changed",
    async () => {
      const folder = temporaryFolder();
      const out = join(folder, "out");
      const first = await build(out, 0, {});
      const whole = await build(join(folder, "whole"), 2, {});
      const spec = defineDataset(definition(out, {}));
      const storage = lake.storageAt(out);
      const running = await claimPrefix(storage, { replace: false });
      const isWritten = /is being written by process/;
      await expect(build(out, 2, {}, "append")).rejects.toThrow(isWritten);
      await expect(buildDataset(lake, spec, { existing: "replace" })).rejects.toThrow(isWritten);
      await expect(verifyDataset(lake, out)).rejects.toThrow(isWritten);
      await running.release();
      running.abandon();
      expect((await verifyDataset(lake, out)).manifest.content).toBe(first.content);
      // Another build has replaced it after this one has read its manifest, and before it claims the folder.
      const manifest = join(out, "manifest.json");
      const text = readFileSync(manifest, "utf8");
      vi.spyOn(lake, "storageAt").mockImplementationOnce(() => ({
        ...storage,
        putIfAbsent(path, mark) {
          writeFileSync(manifest, text.replace(/"createdAt": "\d+/, '"createdAt": "1999'));
          return storage.putIfAbsent(path, mark);
        },
      }));
      await expect(build(out, 2, {}, "append")).rejects.toMatchObject({
        message: "dataset days: another process has changed it meanwhile",
        hint: "append again",
      });
      expect((await build(out, 2, {}, "append")).content).toBe(whole.content);
      expect(readdirSync(out)).toEqual(readdirSync(join(folder, "whole")));
    },
  );

  once("a place where nothing is gets no mark before the dataset is there", async () => {
    const out = join(temporaryFolder(), "out");
    const storage = lake.storageAt(out);
    const marked: string[] = [];
    vi.spyOn(lake, "storageAt").mockImplementationOnce(() => ({
      ...storage,
      putIfAbsent(path, text) {
        marked.push(path);
        return storage.putIfAbsent(path, text);
      },
    }));
    await build(out, 0, {}, "append");
    expect(marked).toEqual([]);
    expect(readdirSync(out)).not.toContain("unfinished.json");
  });

  once("a file of somebody else in a folder of qlib's files stays there, and hinders no append", async () => {
    const out = join(temporaryFolder(), "out");
    await build(out, 0, {});
    writeFileSync(join(out, "notes.txt"), "mine");
    await build(out, 2, {}, "append");
    expect(readFileSync(join(out, "notes.txt"), "utf8")).toBe("mine");
    expect((await verifyDataset(lake, out)).damage).toEqual(["notes.txt was not written with it"]);
    await expect(
      buildDataset(lake, defineDataset(definition(out, {})), { existing: "replace" }),
    ).rejects.toThrow("would delete: notes.txt");
  });

  once("a correction that another process lands during an append is not appended", async () => {
    const folder = temporaryFolder();
    const copy = new Lake(join(folder, "lake"), { hasDatabase: false });
    cpSync(lake.location, copy.location, { recursive: true });
    using session = await Session.open({ threads: 1 });
    const corrected = { ...(BARS[10] as TestBar), close: 12.34 };
    const out = join(folder, "out");
    const first = await build(out, 2, {});
    const whole = await build(join(folder, "whole"), APPENDED.length, {});
    const snapshotAt = copy.snapshotAt.bind(copy);
    let reads = 0;
    // It comes when the newest version was read twice: for the rows, and for the comparison with the earlier ones.
    vi.spyOn(copy, "snapshotAt").mockImplementation(async (table, pointInTime) => {
      const found = await snapshotAt(table, pointInTime);
      if (table !== BARS_1D || pointInTime.versions !== undefined) return found;
      const other = new Lake(copy.location, { hasDatabase: false });
      const now = Date.parse("2025-06-01T00:00:00Z");
      if (++reads === 2) await land(session, other, BARS_1D, [corrected], { lot: 100, now });
      return found;
    });
    const appended = await buildDataset(copy, defineDataset(definition(out, {})), { existing: "append" });
    expect(reads).toBeGreaterThan(1);
    expect(appended.tables).toMatchObject({
      bars_1d: (first.tables.bars_1d as number) + APPENDED.length - 2,
    });
    expect(appended.content).toBe(whole.content);
    await expect(
      buildDataset(copy, defineDataset(definition(out, {})), { existing: "append" }),
    ).rejects.toThrow("the lake has changed its days since: bars_1d");
  });

  once(
    "an append says of a missing file whether the lake lacks it, or an earlier version of it only",
    async () => {
      const copy = new Lake(join(place, "lacking"), { hasDatabase: false });
      cpSync(lake.location, copy.location, { recursive: true });
      const out = join(temporaryFolder(), "out");
      const append = (): Promise<BuildReport> =>
        buildDataset(new Lake(copy.location, { hasDatabase: false }), defineDataset(definition(out, {})), {
          existing: "append",
        });
      const { files } = await copy.snapshot(BARS_1D);
      const [file = ""] = files.keys();
      const path = join(copy.location, "bars_1d", file);
      const bytes = readFileSync(path);
      await build(out, APPENDED.length, {});
      rmSync(path);
      await expect(append()).rejects.toMatchObject({
        message: `table bars_1d: ${file} is missing`,
        hint: expect.stringMatching(/^restore the file from a backup/),
      });
      writeFileSync(path, bytes);
      using session = await Session.open({ threads: 1 });
      await optimize(session, copy, BARS_1D, { runId: "test" });
      rmSync(path);
      await expect(append()).rejects.toMatchObject({
        message: `dataset days: cannot be appended to: bars_1d went from version ${APPENDED.length} to ${APPENDED.length + 2}; what changed in it cannot be determined: table bars_1d: version ${APPENDED.length} can no longer be read: ${file} is gone`,
        hint: '`existing: "replace"` builds it again',
      });
    },
  );

  test.each(formats)(
    "a damaged file of the lake matters where bars of it are read, or of a new symbol: $format",
    async (more) => {
      const copy = new Lake(join(place, "harmed"), { hasDatabase: false });
      cpSync(lake.location, copy.location, { recursive: true });
      const folder = join(copy.location, "bars_1d");
      const [file = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((path) => /year=2024.*parquet$/.test(path))
        .sort((a, b) => statSync(join(folder, b)).size - statSync(join(folder, a)).size);
      using session = await Session.open({ threads: 1 });
      const [page] = await session.json<{ start: number; bytes: number }>(
        `SELECT CAST(data_page_offset AS DOUBLE) AS start, CAST(total_compressed_size AS DOUBLE) AS bytes
       FROM parquet_metadata(${literal(join(folder, file))}) WHERE path_in_schema = 'open'`,
      );
      const { start = 0, bytes = 0 } = page ?? {};
      const [base, out] = [join(temporaryFolder(), "base"), join(temporaryFolder(), "out")];
      const append = async (from: number): Promise<BuildReport> => {
        rmSync(out, { recursive: true, force: true });
        await build(out, from, more);
        const pointInTime = { versions: new Map([["bars_1d", from + 1]]) };
        const harmed = new Lake(copy.location, { hasDatabase: false });
        return buildDataset(harmed, defineDataset(definition(out, more)), {
          existing: "append",
          pointInTime,
        });
      };
      const whole = await build(base, 5, more);
      const sound = readFileSync(join(folder, file));
      change(join(folder, file), (all) => void all.fill(0x55, start + (bytes >> 1), start + bytes));
      expect((await append(4)).content).toBe(whole.content);
      // A symbol has its first trades on the third day, and one returns on the fourth, after a year's turn.
      for (const from of [2, 3])
        await expect(append(from)).rejects.toThrow(`table bars_1d: ${file} is not what was written`);
      writeFileSync(join(folder, file), sound);
    },
  );
});
