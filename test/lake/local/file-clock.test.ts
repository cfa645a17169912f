import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { timeIn, touch } from "../../../src/lake/local/file-clock.js";
import { RequestLeases } from "../../../src/lake/requests/request-leases.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { temporaryFolder, temporaryLake } from "../temporary-lake.js";

const SUBJECT = { dataset: "bars_1d", symbols: ["600519.SH"] };
/** A process of another machine, as given in its file. */
const ELSEWHERE = { runId: "other", host: "elsewhere", pid: 1 };

/** Sets the clock of this process only, by the given number of hours. */
function setClock(hours: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
}

test.each([-2, 2])(
  "a sign of life has the time of the file system: the clock is %i hours off",
  async (hours) => {
    const folder = temporaryFolder();
    const path = join(folder, "a.json");
    writeFileSync(path, '{"a":1}');
    utimesSync(path, 1, 1);
    const before = await timeIn(folder);
    setClock(hours);
    await touch(path);
    const { mtimeMs } = statSync(path);
    expect(mtimeMs).toBeGreaterThanOrEqual(before);
    expect(mtimeMs).toBeLessThanOrEqual(await timeIn(folder));
    expect(readFileSync(path, "utf8")).toBe('{"a":1}');
  },
);

test.each([
  ["an hour ahead", 1],
  ["an hour back", -1],
])(
  "what another machine asks for, and has received, stays its own where this clock is %s",
  async (_, hours) => {
    const lake = temporaryLake();
    const lease = join(lake.folder, "leases", "other.json");
    const owner = join(lake.folder, "spool", "other", "owner.json");
    for (const path of [lease, owner]) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, JSON.stringify({ ...ELSEWHERE, ...SUBJECT }));
    }
    setClock(hours);
    const leases = new RequestLeases(lake, "mine");
    expect(await leases.take(SUBJECT)).toBeUndefined();
    expect(await ResponseSpool.takeOver(lake, "mine")).toEqual([]);
    // After two minutes without a sign of life.
    const silent = (await timeIn(lake.folder)) / 1000 - 120;
    for (const path of [lease, owner]) utimesSync(path, silent, silent);
    const taken = await leases.take(SUBJECT);
    expect(taken).toBeDefined();
    await taken?.release();
    const [store] = await ResponseSpool.takeOver(lake, "mine");
    expect(store).toBeDefined();
    await store?.close();
    await leases.close();
  },
);
