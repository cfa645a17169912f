import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { BALANCE_SHEET } from "../../../../src/schema/statements.js";
import { json, type Seen } from "../../../faults/service/scripted-service.js";
import { liveRows, openSession } from "../../../lake/temporary-lake.js";
import { scriptedMarket } from "../../scripted-market.js";

const DAY = 86_400_000;
const SHEETS: PipelineDefinition = { name: "sheets", kind: "statements", tables: ["balance_sheet"] };
const [A, B, C, D] = ["600000.SH", "600001.SH", "600519.SH", "601318.SH"] as const;

const record = (total_assets = 1) => ({ period_end: "2023-09-30", announce_date: null, total_assets });
const requestedOf = ({ query }: Seen): string[] => (query.get("symbols") ?? "").split(",");

/** A service that has the statements of some symbols; a test may replace its responses. */
async function statementsMarket(symbols: readonly string[], having: readonly string[]) {
  const sound = (seen: Seen): Record<string, unknown> =>
    Object.fromEntries(requestedOf(seen).flatMap((one) => (having.includes(one) ? [[one, [record()]]] : [])));
  const state = { respond: sound };
  const parts = await scriptedMarket(
    (seen, response) => json(response, 200, { data: state.respond(seen) }),
    "2024-01-13T00:00:00Z",
  );
  /** Runs the pipeline; gives its status, and the symbols of each request that it sent. */
  const night = async (respond: (seen: Seen) => object = sound) => {
    state.respond = respond as typeof sound;
    parts.clock.advance(DAY);
    const before = parts.service.seen.length;
    const report = await parts.run(SHEETS, { symbols });
    return { report, status: report.status, requested: parts.service.seen.slice(before).map(requestedOf) };
  };
  const landed = async (): Promise<unknown[]> =>
    (
      await liveRows(
        await openSession(),
        parts.lake,
        BALANCE_SHEET,
        "SELECT DISTINCT symbol FROM live ORDER BY symbol",
      )
    ).map((row) => (row as { symbol: string }).symbol);
  return { ...parts, sound, night, landed };
}

test("an empty map for a whole batch proves nothing: the run is partial, and the next one requests it again at once", async () => {
  const { night, landed, clock, run } = await statementsMarket([A, B], [A, B]);
  const first = await night(() => ({}));
  expect(first.status).toBe("partial");
  expect(first.requested).toEqual([
    [A, B],
    [A, B],
  ]);
  expect(first.report.failures).toEqual([
    {
      dataset: "balance_sheet",
      request: "balance_sheet",
      reason: `no response shows whether there are statements of ${A}, ${B}; they are requested again by the next run`,
      symbols: 2,
    },
  ]);
  clock.advance(1000);
  const second = await night();
  expect([second.status, second.requested]).toEqual(["complete", [[A, B]]]);
  expect(await landed()).toEqual([A, B]);
  expect((await run(SHEETS, { symbols: [A, B] })).requests.sent).toBe(0);
});

test("a fault that passes within the run costs one request, and the run is complete", async () => {
  const { night, sound, landed } = await statementsMarket([A, B], [A]);
  let requests = 0;
  const { status, requested } = await night((seen) => (requests++ === 0 ? {} : sound(seen)));
  expect([status, requested.length]).toEqual(["complete", 2]);
  expect(await landed()).toEqual([A]);
});

test("symbols without statements cost nothing once a response had those of others", async () => {
  const { night } = await statementsMarket([A, B, C], [A]);
  expect(await night()).toMatchObject({ status: "complete", requested: [[A, B, C]] });
  expect(await night()).toMatchObject({ status: "complete", requested: [[A, B, C]] });
  // Empty lists in place of missing keys mean the same.
  const lists = (seen: Seen): object =>
    Object.fromEntries(requestedOf(seen).map((one) => [one, one === A ? [record()] : []]));
  expect(await night(lists)).toMatchObject({ status: "complete", requested: [[A, B, C]] });
});

test("a symbol with statements in the lake is requested again, together with one that has some, before its absence counts", async () => {
  const { night, sound } = await statementsMarket([A, B], [A, B]);
  expect((await night()).status).toBe("complete");
  const lacking = (seen: Seen): object => {
    const { [B]: _, ...others } = sound(seen);
    return others;
  };
  expect(await night(lacking)).toMatchObject({
    status: "complete",
    requested: [
      [A, B],
      [A, B],
    ],
  });
  // A response without the symbol that has some shows nothing, either.
  const broken = await night(() => ({ [D]: [record()] }));
  expect(broken.status).toBe("partial");
  expect(broken.report.failures[0]?.symbols).toBe(2);
});

test("a symbol whose statements came is not in doubt because a second response lacks it", async () => {
  const { night, sound } = await statementsMarket([A, B], [A, B]);
  await night();
  let requests = 0;
  const { status, report } = await night((seen) => {
    const { [B]: _, ...others } = sound(seen);
    return requests++ === 0 ? others : {};
  });
  expect(status).toBe("partial");
  expect(report.failures).toMatchObject([
    { reason: expect.stringContaining(`statements of ${B};`), symbols: 1 },
  ]);
});

test("after an empty second response nothing more is sent", async () => {
  const symbols = Array.from({ length: 250 }, (_, n) => `${600_000 + n}.SH`);
  const { night, landed } = await statementsMarket(symbols, symbols);
  const first = await night(() => ({}));
  expect([first.status, first.requested.length, first.report.failures[0]?.symbols]).toEqual([
    "partial",
    4,
    250,
  ]);
  expect((await night()).status).toBe("complete");
  expect(await landed()).toHaveLength(250);
});

test("where a service has no statement at all, the third run in turn believes it", async () => {
  const { night } = await statementsMarket([A, B], []);
  const statuses = [];
  for (let n = 0; n < 4; n++) statuses.push((await night()).status);
  expect(statuses).toEqual(["partial", "partial", "complete", "complete"]);
});

test("a response with a symbol that was not requested leaves the absent ones in doubt", async () => {
  const { night, sound, landed } = await statementsMarket([A, B], [A, B]);
  let requests = 0;
  const swapped = (seen: Seen): object =>
    requests++ === 0 ? { [A]: [record()], [D]: [record()] } : sound(seen);
  expect(await night(swapped)).toMatchObject({
    status: "complete",
    requested: [
      [A, B],
      [A, B],
    ],
  });
  expect(await landed()).toEqual([A, B]);
});
