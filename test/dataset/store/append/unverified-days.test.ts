import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type BuildReport, buildDataset } from "../../../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../../../src/dataset/spec.js";
import { literal } from "../../../../src/db/quote.js";
import { Lake } from "../../../../src/lake/lake.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { fixtureLake } from "../../../lake/fixture-lake.js";
import { land, openSession, type TestBar, temporaryFolder } from "../../../lake/temporary-lake.js";
import { once } from "../../../once.js";
import { pickFrom } from "../../../sweep.js";
import { weekdays } from "../../weekdays.js";

const BEFORE = weekdays("2024-11-01", "2024-12-31");
/** The days of each landing. */
const LANDINGS = [BEFORE, weekdays("2025-01-01", "2025-01-06"), weekdays("2025-01-07", "2025-01-08")];
const SYMBOLS = ["600106.SH", "600519.SH", "601398.SH"];

const FORMATS = ["qlib", "long-parquet"] as const;
const [FORMAT = "qlib"] = pickFrom(FORMATS, 1);

/** A lake with a version for each landing. Other processes read it: nothing of it is known from an earlier read. */
async function grownLake() {
  const [location, session] = [join(temporaryFolder(), "lake"), await openSession()];
  const fixture = { filledBy: import.meta.url, name: "days", isDamaged: true };
  await fixtureLake(location, fixture, async (lake) => {
    for (const days of LANDINGS) {
      const bars = days.flatMap((day, n) =>
        SYMBOLS.map((symbol): TestBar => ({ symbol, at: `${day}T00:00:00+08:00`, close: 10 + (n % 3) / 4 })),
      );
      await land(session, lake, BARS_1D, bars, { lot: 100, now: Date.parse("2025-06-01T00:00:00Z") });
    }
  });
  const opened = (): Lake => new Lake(location, { hasDatabase: false });
  const { files } = await opened().snapshotAt(BARS_1D, { versions: new Map([["bars_1d", 0]]) });
  const file = [...files.keys()].find((path) => path.includes("year=2024")) as string;
  return { opened, session, path: join(location, "bars_1d", file), file };
}

type Grown = Awaited<ReturnType<typeof grownLake>>;

/** Replaces a file of the earlier days, with all closing prices changed, in a form that every reader accepts. */
async function falsify({ session, path }: Grown): Promise<() => void> {
  const [sound, other] = [join(temporaryFolder(), "sound"), join(temporaryFolder(), "other")];
  copyFileSync(path, sound);
  await session.run(
    `COPY (SELECT * REPLACE (close + 1 AS close) FROM read_parquet(${literal(path)}, hive_partitioning = false))
     TO ${literal(other)} (FORMAT parquet)`,
  );
  copyFileSync(other, path);
  return () => copyFileSync(sound, path);
}

function builder({ opened }: Grown, format: (typeof FORMATS)[number], output: string) {
  const definition: DatasetDefinition = {
    name: "days",
    universe: { region: "CN" },
    from: "2024-11-01",
    format,
    fields: ["open", "close", "volume"],
    masks: [],
    output,
  };
  return (version: number, verify: boolean, existing: "refuse" | "append" = "append"): Promise<BuildReport> =>
    buildDataset(opened(), defineDataset(definition), {
      existing,
      verify,
      pointInTime: { versions: new Map([["bars_1d", version]]) },
    });
}

function editManifest(output: string, edit: (manifest: Record<string, unknown>) => void): void {
  const path = join(output, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  edit(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

test.each(pickFrom(FORMATS, { few: 1, more: 2, all: 2 }))(
  "%s: a verifying append makes again what nobody had verified",
  async (format) => {
    const lake = await grownLake();
    const output = join(temporaryFolder(), "out");
    const grow = builder(lake, format, output);
    const whole = builder(lake, format, join(temporaryFolder(), "whole"));
    const expected = await whole(2, true, "refuse");
    const repair = await falsify(lake);
    await grow(0, false, "refuse");
    const grown = await grow(1, false);
    expect(grown.verified).toBe(false);
    repair();
    const appended = await grow(2, true);
    expect(appended).toMatchObject({ verified: true, content: expected.content });
    expect(appended.newRows).toBe(expected.rows - grown.rows);
  },
);

once(
  "a manifest that does not say whether files were verified counts as one of files that were not",
  async () => {
    const lake = await grownLake();
    const output = join(temporaryFolder(), "out");
    const grow = builder(lake, FORMAT, output);
    const expected = await builder(lake, FORMAT, join(temporaryFolder(), "whole"))(2, true, "refuse");
    const repair = await falsify(lake);
    await grow(0, false, "refuse");
    editManifest(output, (manifest) => delete manifest.verified);
    await expect(grow(1, true)).rejects.toThrow(`table bars_1d: ${lake.file} is not what was written`);
    repair();
    expect(await grow(2, true)).toMatchObject({ verified: true, content: expected.content });
  },
);

once("a manifest whose statement about verified files is damaged is refused", async () => {
  const lake = await grownLake();
  const output = join(temporaryFolder(), "out");
  const grow = builder(lake, "qlib", output);
  await grow(0, true, "refuse");
  for (const wrong of ["true", 1, null]) {
    editManifest(output, (manifest) => Object.assign(manifest, { verified: wrong }));
    await expect(grow(1, true), String(wrong)).rejects.toMatchObject({
      message: expect.stringMatching(/manifest\.json: verified: /),
      hint: 'build the dataset again with `existing: "replace"`',
    });
  }
});
