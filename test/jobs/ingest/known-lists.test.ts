import { expect, test } from "vitest";
import { runSummary } from "../../../src/cli/reports/report-text.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { runCli } from "../../cli/run-cli.js";
import { json, type Script } from "../../faults/service/scripted-service.js";
import { barsOn, scriptedMarket } from "../scripted-market.js";

const DAY = 86_400_000;
const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2024-01-08",
  regions: ["CN"],
};
const ADVICE = /what left a list before that day is not in the lake/;

/** Two exchanges in two regions, and universes with one member each. */
function market(universes: () => readonly string[]): Script {
  const symbols: Readonly<Record<string, string>> = { SH: "600519.SH", US: "AAPL.US" };
  return (seen, response) => {
    const one = (id: string): object => ({ id, name: id, category: "c", region: "CN", symbol_count: 1 });
    const reply = (data: unknown): void => json(response, 200, { data });
    if (seen.path.endsWith("/universes")) return reply(universes().map(one));
    if (seen.path.endsWith("/universes/batch")) {
      const { ids } = JSON.parse(seen.body) as { ids: string[] };
      return reply(Object.fromEntries(ids.map((id) => [id, { ...one(id), symbols: ["600519.SH"] }])));
    }
    if (seen.path.endsWith("/exchanges"))
      return reply(
        Object.keys(symbols).map((exchange) => ({
          exchange,
          region: exchange === "SH" ? "CN" : "US",
          count: 1,
        })),
      );
    const exchange = /\/exchanges\/([^/]+)\/instruments$/.exec(seen.path)?.[1];
    if (exchange !== undefined) {
      const symbol = String(symbols[exchange]);
      const region = exchange === "SH" ? "CN" : "US";
      return reply([{ symbol, code: symbol.split(".")[0], exchange, region, name: symbol, type: "stock" }]);
    }
    return reply(barsOn([Date.parse("2024-01-10T16:00:00Z")], seen));
  };
}

test("the report and status say since when the lists are known; the text of a run only of new ones", async () => {
  let universes = ["U"];
  // In Shanghai it is the 13th, in New York the 12th.
  const { clock, lake, run } = await scriptedMarket(
    market(() => universes),
    "2024-01-12T17:00:00Z",
  );
  const first = await run(REFERENCE);
  const instruments = { dataset: "instruments", list: "SH", region: "CN", since: "2024-01-13" };
  const american = { dataset: "instruments", list: "US", region: "US", since: "2024-01-12" };
  const members = { dataset: "universe_members", list: "U", region: "CN", since: "2024-01-13" };
  expect(first.lists).toMatchObject([instruments, american, members].map((one) => ({ ...one, isNew: true })));
  expect(runSummary(first, "lake")).not.toMatch(/known since|what left/);
  const text = runSummary(first, "lake", true);
  expect(text).toContain("instruments of SH known since 2024-01-13\n");
  expect(text).toContain("instruments of US known since 2024-01-12\n");
  expect(text).toContain("members of U known since 2024-01-13\n");
  expect(text).toMatch(ADVICE);

  clock.advance(DAY);
  const second = await run(REFERENCE);
  expect(second.lists).toMatchObject(
    [instruments, american, members].map((one) => ({ ...one, isNew: false })),
  );
  expect(runSummary(second, "lake", true)).not.toMatch(/known since|what left/);

  clock.advance(9 * DAY);
  universes = ["U", "V"];
  const third = await run(REFERENCE);
  expect(third.lists.filter(({ isNew }) => isNew)).toMatchObject([
    { dataset: "universe_members", list: "V", since: "2024-01-23" },
  ]);
  expect(runSummary(third, "lake", true)).toMatch(/note: members of V known since 2024-01-23\n/);

  // A run of bars names the lists that its symbols come from, and no others.
  const daily = await run(DAILY);
  expect(daily.lists).toEqual([{ ...instruments, firstSeenAt: expect.any(Number), isNew: false }]);
  expect((await run(DAILY, { universes: ["V"] })).lists.map(({ list }) => list)).toEqual(["V"]);

  // Its bars are of an earlier time than the list: the report does not claim those of symbols that had left it.
  expect(daily).toMatchObject({
    status: "complete",
    completeness: [{ asked: { start: Date.parse("2024-01-07T16:00:00Z") } }],
  });
  expect(runSummary(daily, "lake", true)).toMatch(
    /^note: bars_1d: the symbols are the instruments of SH since 2024-01-13; what left these lists before was not asked for; request such symbols by name, with --symbols$/m,
  );
  const later = await run({ ...DAILY, name: "later", from: "2024-01-15" }, { symbols: ["600519.SH"] });
  expect(runSummary(later, "lake", true)).not.toMatch(/what left/);

  const shown = await runCli(["status", "--lake", lake.location]);
  expect(shown.stdout).toMatch(/^instruments +US +2024-01-12 +1 +US$/m);
  expect(shown.stdout).toMatch(/^universe_members +CN +2024-01-23 +1 +V$/m);
  expect(shown.stdout).toMatch(ADVICE);
  const machine = await runCli(["status", "--lake", lake.location, "--json"]);
  const newer = { ...members, list: "V", since: "2024-01-23" };
  expect(JSON.parse(machine.stdout).lists).toEqual(
    [instruments, american, members, newer].map((one) => ({ ...one, firstSeenAt: expect.any(Number) })),
  );
});
