import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { LakeError } from "../../../../src/core/errors.js";
import type { TradingDate } from "../../../../src/core/time.js";
import { buildDataset } from "../../../../src/dataset/build-dataset.js";
import { dataset } from "../../../../src/dataset/dataset.js";
import { defineDataset } from "../../../../src/dataset/spec.js";
import { verifySources } from "../../../../src/dataset/store/lake-changes.js";
import { Lake } from "../../../../src/lake/lake.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { DAYS, lakeUntil } from "../../growing-lake.js";

const SPEC = {
  name: "test",
  universe: { region: "CN" as const },
  from: DAYS[0] as TradingDate,
  fields: ["close"],
};

/** Inverts some bytes in the middle of a table's first data file: most such files are still read, with other numbers. */
function damage(lake: Lake, table: string): string {
  const folder = join(lake.location, table);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".parquet"),
  );
  const path = join(folder, names.sort()[0] as string);
  const bytes = readFileSync(path);
  for (let at = bytes.length >> 1; at < (bytes.length >> 1) + 64; at++)
    bytes[at] = (bytes[at] as number) ^ 0x55;
  // The file may be linked into lakes of other tests: a new one takes its place.
  rmSync(path);
  writeFileSync(path, bytes);
  return names[0] as string;
}

let make: () => Promise<Lake>;
beforeAll(() => {
  make = () => lakeUntil(join(temporaryFolder(), "lake"), DAYS[12] as TradingDate, { minuteDays: 1 });
});

test("a dataset is not made of a damaged file, which is named", async () => {
  const lake = await make();
  await buildDataset(lake, defineDataset({ ...SPEC, name: "sound" }));
  const file = damage(lake, "bars_1d");
  const fresh = new Lake(lake.location);
  for (const use of [() => buildDataset(fresh, defineDataset(SPEC)), () => dataset(fresh, SPEC)]) {
    const error: unknown = await use().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LakeError);
    expect((error as LakeError).message).toMatch(
      /^table bars_1d: \S+\.parquet is not what was written: its hash is /,
    );
    expect((error as LakeError).message).toContain(file);
    expect((error as LakeError).hint).toContain("barlake repair");
  }
  expect(readdirSync(join(lake.location, "datasets"))).toEqual(["sound"]);
});

test("a damaged file that a dataset does not read does not matter to it", async () => {
  const lake = await make();
  damage(lake, "bars_1m");
  const { rows } = await buildDataset(lake, defineDataset(SPEC));
  expect(rows).toBeGreaterThan(100);
  const minutes = { ...SPEC, name: "minutes", period: "1m" as const, from: DAYS[12] as TradingDate };
  await expect(buildDataset(lake, defineDataset(minutes))).rejects.toThrow(/^table bars_1m: /);
});

test("a build that is stopped reads no further file of the lake for its hash", async () => {
  const lake = await make();
  damage(lake, "bars_1d");
  const reason = new Error("stopped by hand");
  const { snapshots, session } = await openReader(lake, { verify: false });
  session.close();
  const verify = (signal?: AbortSignal) => verifySources(lake, snapshots, defineDataset(SPEC), { signal });
  await expect(verify(AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(verify()).rejects.toThrow(/^table bars_1d: /);
});
