import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TransportError } from "../../../src/core/errors.js";
import { checkLake } from "../../../src/jobs/maintenance/check-lake.js";
import { repairLake } from "../../../src/jobs/maintenance/repair-lake.js";
import { Lake } from "../../../src/lake/lake.js";
import { commitFile } from "../../../src/lake/log/log-files.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { land, openSession, T0, temporaryLake } from "../../lake/temporary-lake.js";

const YEARS = ["2021", "2022", "2023"];
const FAULT = "the store could not be reached";

/** A lake with daily bars of three years, one file each, of which the first is damaged. */
async function damagedLake(): Promise<{ readonly location: string; readonly damaged: string }> {
  const lake = temporaryLake();
  const session = await openSession();
  await land(
    session,
    lake,
    BARS_1D,
    YEARS.map((year) => ({ at: `${year}-03-07T16:00:00Z` })),
  );
  const [damaged = ""] = [...(await lake.snapshot(BARS_1D)).files.keys()];
  const file = join(lake.location, "bars_1d", damaged);
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  writeFileSync(file, bytes);
  return { location: lake.location, damaged: `bars_1d/${damaged}` };
}

/** A lake of which some data files cannot be read now, as those of a store that is not well. */
class FaultyLake extends Lake {
  isFaulty: (path: string) => boolean = () => false;

  override async read(...[snapshot, file]: Parameters<Lake["read"]>): ReturnType<Lake["read"]> {
    if (this.isFaulty(file.path)) throw new TransportError(FAULT, { hint: "look at the store" });
    return super.read(snapshot, file);
  }
}

test("a store's fault ends the check of its table: what was found before is reported, and that it is not all", async () => {
  const { location, damaged } = await damagedLake();
  const lake = new FaultyLake(location);
  const whole = await checkLake(lake, [BARS_1D, INSTRUMENTS], { deep: true });
  expect(whole).toMatchObject({
    tables: [{ table: "bars_1d", files: 3, rows: 2, complete: true }],
    findings: [{ rule: "file_content", file: damaged }],
    errors: [],
  });
  const last = [...(await lake.snapshot(BARS_1D)).files.keys()].at(-1) as string;
  lake.isFaulty = (path) => path === last;
  const cut = await checkLake(lake, [BARS_1D, INSTRUMENTS], { deep: true });
  expect(cut).toMatchObject({
    tables: [{ table: "bars_1d", version: 0, files: 3, rows: 1, complete: false }],
    findings: whole.findings,
    errors: [{ message: `check of table bars_1d ended early: ${FAULT}`, hint: "look at the store" }],
  });
});

test.each(["the list of its files", "an entry of its log", "its newest version"])(
  "a store's fault is not taken for damage of the table, nor for a table without files: %s",
  async (of) => {
    const { location } = await damagedLake();
    const lake = new Lake(location);
    const { storage } = lake;
    const fail = (): never => {
      throw new TransportError(FAULT);
    };
    if (of === "its newest version") Object.assign(lake, { snapshot: async () => fail() });
    else
      Object.assign(storage, {
        ...(of === "the list of its files" && { walk: async () => fail() }),
        ...(of === "an entry of its log" && {
          readText: async (path: string) => (path === commitFile("bars_1d", 0) ? fail() : undefined),
        }),
      });
    expect(await checkLake(lake, [BARS_1D])).toMatchObject({
      tables: [{ table: "bars_1d", version: -1, complete: false }],
      findings: [],
      errors: [{ message: `check of table bars_1d ended early: ${FAULT}` }],
    });
  },
);

test("a check that is stopped says so", async () => {
  const { location } = await damagedLake();
  const stop = new AbortController();
  const { tables } = await checkLake(new Lake(location), [BARS_1D], {
    deep: true,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  expect(tables).toMatchObject([{ table: "bars_1d", complete: false }]);
});

test("repair does not take a file for lost that the store does not give, and says what to do", async () => {
  const { location } = await damagedLake();
  const lake = new FaultyLake(location);
  lake.isFaulty = () => true;
  const { reports, errors } = await repairLake(lake, [BARS_1D], { runId: "repair" }, virtualClock(T0));
  expect(reports).toEqual([]);
  expect(errors).toMatchObject([
    {
      message: expect.stringMatching(new RegExp(`is not readable: ${FAULT}; the table was not changed$`)),
      hint: expect.stringMatching(/may be whole: try again later$/),
    },
  ]);
  expect((await new Lake(location).snapshot(BARS_1D)).files.size).toBe(YEARS.length);
});
