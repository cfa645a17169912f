import { cpSync, renameSync } from "node:fs";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { RUNS } from "../../../src/schema/runs.js";
import { temporaryLake } from "../../lake/temporary-lake.js";
import { right, scriptedMarket } from "../scripted-market.js";

const DAILY = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" } as const;

/** What a lake has, except the record of the run itself. */
async function contentOf(lake: Lake): Promise<Record<string, string>> {
  const snapshots = (await lake.snapshots()).filter(({ table }) => table !== RUNS);
  return Object.fromEntries(snapshots.map(({ table, commitId }) => [table.name, commitId]));
}

test.each([
  ["before its first request", "request"],
  ["between the commit of bars and that of their records", "commit"],
])("a run whose lake is replaced %s ends, and leaves the new lake as it is", async (_, when) => {
  const { location, storage } = temporaryLake();
  const backup = `${location}.backup`;
  let isDue = false;
  /** Lists of the log of bars since a commit in it. */
  let lists = Number.NaN;
  const replace = (): void => {
    if (!isDue) return;
    isDue = false;
    renameSync(location, `${location}.old`);
    cpSync(backup, location, { recursive: true });
  };
  const lake = new Lake(location, {
    hasDatabase: false,
    storage: {
      ...storage,
      async putIfAbsent(path, text) {
        const done = await storage.putIfAbsent(path, text);
        if (path.startsWith("bars_1d/_delta_log/")) lists = 0;
        return done;
      },
      async list(folder, after) {
        // The first one is that of the commit itself.
        if (folder === "bars_1d/_delta_log" && ++lists === 2 && when === "commit") replace();
        return storage.list(folder, after);
      },
    },
  });
  const { run } = await scriptedMarket(
    (seen, response, nth) => {
      if (when === "request") replace();
      return right(seen, response, nth);
    },
    "2024-01-13T00:00:00Z",
    lake,
  );
  expect((await run(DAILY, { symbols: ["600519.SH"] })).status).toBe("complete");
  cpSync(location, backup, { recursive: true });
  if (when === "request") expect((await run(DAILY, { symbols: ["600000.SH"] })).status).toBe("complete");
  isDue = true;
  const { status, stopped } = await run(DAILY, { symbols: ["600036.SH"] });
  expect([status, stopped]).toEqual([
    "failed",
    expect.stringMatching(/^table \w+: was replaced, as by a backup,/),
  ]);
  expect(await contentOf(new Lake(location))).toEqual(await contentOf(new Lake(backup)));
  const again = await run(DAILY, { symbols: ["600036.SH"] });
  expect([again.status, again.stopped]).toEqual(["complete", undefined]);
});
