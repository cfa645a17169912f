import { expect, onTestFinished, test } from "vitest";
import { ServiceClient } from "../../../src/client/service-client.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { apiLake } from "../../api/api-lake.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { json, type Script } from "../../faults/service/scripted-service.js";
import { queryLake, temporaryLake } from "../../lake/temporary-lake.js";
import { KEY, NOW, serve } from "../../serve/served-lake.js";
import { filledMarket, scriptedMarket } from "../scripted-market.js";

const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAY = 86_400_000;
const SH = "/v1/exchanges/SH/instruments";
const MEMBERS = "/v1/universes/batch";

const codes = (n: number, first: number): string[] =>
  Array.from({ length: n }, (_, at) => String(first + at));

/**
 * Bodies of the responses, by path: lists of `elements` that agree with their own length, and what other lists count.
 *
 * @param first code of the first element; the others follow it.
 */
function listsOf(elements: number, counted: number, first = 600_000): Record<string, unknown> {
  const data = codes(elements, first).map((code) => {
    return { symbol: `${code}.SH`, code, exchange: "SH", region: "CN", name: code, type: "stock" };
  });
  const universe = (symbol_count: number) => ({
    id: "U",
    name: "u",
    category: "c",
    region: "CN",
    symbol_count,
  });
  return {
    "/v1/exchanges": { data: [{ exchange: "SH", region: "CN", count: counted }] },
    [SH]: { count: elements, exchange: "SH", data },
    "/v1/universes": { data: [universe(counted)] },
    [MEMBERS]: { data: { U: { ...universe(elements), symbols: data.map(({ symbol }) => symbol) } } },
  };
}

/** @param first the lists of snapshots that the lake has, and after how many milliseconds each was taken. */
async function countedMarket(...first: readonly (readonly [Record<string, unknown>, number])[]) {
  const state = { lists: {} as Record<string, unknown> };
  const script: Script = (seen, response) => json(response, 200, state.lists[seen.path]);
  const start = "2024-01-13T00:00:00Z";
  const fixture = { filledBy: import.meta.url, name: JSON.stringify(first) };
  const fill: Parameters<typeof filledMarket>[3] = async (take, clock) => {
    for (const [lists, later] of first) {
      state.lists = lists;
      clock.advance(later);
      await take(REFERENCE);
    }
  };
  const market = await (first.length > 0
    ? filledMarket(script, start, fixture, fill)
    : scriptedMarket(script, start));
  for (const [, later] of first) market.clock.advance(later);
  const { clock, lake, run, service } = market;
  /** Takes a snapshot, `later` milliseconds after the last one. */
  const snapshot = async (lists: Record<string, unknown>, later = 2 * DAY) => {
    state.lists = lists;
    clock.advance(later);
    const before = service.seen.length;
    const { status, failures } = await run(REFERENCE);
    const requested = service.seen.slice(before).map(({ path }) => path);
    return { status, reasons: failures.map(({ reason }) => reason), requested };
  };
  /** The current instruments, and the current members of the universe. */
  const current = async (): Promise<unknown[]> => {
    const counts = await queryLake<Record<string, number>>(
      lake,
      `SELECT (SELECT count(*) FROM raw.instruments WHERE valid_to IS NULL)::INT AS instruments,
         (SELECT count(*) FROM raw.universe_members WHERE valid_to IS NULL)::INT AS members`,
    );
    return Object.values(counts[0] ?? {});
  };
  /** Whether a symbol is a current instrument and a current member. */
  const has = async (symbol: string): Promise<boolean> => {
    const rows = await queryLake(
      lake,
      `FROM raw.instruments JOIN raw.universe_members m USING (symbol)
       WHERE instruments.valid_to IS NULL AND m.valid_to IS NULL AND symbol = '${symbol}'`,
    );
    return rows.length > 0;
  };
  return { snapshot, current, has };
}

const WHOLE = listsOf(40, 40);
/** Three snapshots, after which the lake knows that the other lists count something else. */
const LESS = [2 * DAY, 1000, 1000].map((later) => [listsOf(40, 60), later] as const);

test("a cut list that agrees with its length ends nothing where another list counts more, and is requested again", async () => {
  const { snapshot, current } = await countedMarket([WHOLE, 2 * DAY]);
  for (const later of [2 * DAY, 1000, 1000]) {
    const cut = await snapshot(listsOf(20, 40), later);
    expect(cut.status).toBe("partial");
    expect(cut.reasons).toEqual([
      "the list of SH may lack rows: the list of exchanges counts more elements: 40, and it has 20; nothing ends, and it is requested again",
      "the list of U may lack rows: the list of universes counts more elements: 40, and it has 20; nothing ends, and it is requested again",
    ]);
    expect(await current()).toEqual([40, 40]);
  }
  expect(await snapshot(WHOLE, 1000)).toEqual({ status: "complete", reasons: [], requested: [SH, MEMBERS] });
  expect(await current()).toEqual([40, 40]);
});

test.each([
  [31, 40],
  [400, 420],
])(
  "a list of %i elements where another one counts %i may have changed between the two: what it lacks ends",
  async (elements, counted) => {
    const { snapshot, current } = await countedMarket([listsOf(counted, counted), 2 * DAY]);
    expect(await snapshot(listsOf(elements, counted))).toMatchObject({ status: "complete", reasons: [] });
    expect(await current()).toEqual([elements, elements]);
  },
);

test("where the other list always counts more, the third run believes that it counts something else", async () => {
  const { snapshot, current } = await countedMarket();
  const first = listsOf(40, 60);
  expect([(await snapshot(first)).status, (await snapshot(first, 1000)).status]).toEqual([
    "partial",
    "partial",
  ]);
  expect(await snapshot(first, 1000)).toMatchObject({ status: "complete", reasons: [] });
  expect(await snapshot(listsOf(38, 58))).toMatchObject({ status: "complete", reasons: [] });
  expect(await current()).toEqual([38, 38]);
  expect(await snapshot(listsOf(20, 58))).toMatchObject({ status: "partial" });
  expect(await current()).toEqual([38, 38]);
});

test("a list that was accepted with another count may replace many elements at once: the old ones end", async () => {
  const { snapshot, current, has } = await countedMarket(...LESS);
  const replaced = await snapshot(listsOf(40, 60, 600_012));
  expect(replaced).toMatchObject({ status: "complete", reasons: [] });
  expect(await current()).toEqual([40, 40]);
  expect([await has("600000.SH"), await has("600051.SH")]).toEqual([false, true]);
});

test("elements of a cut list do not count when a later list is compared with the accepted one", async () => {
  const { snapshot, current } = await countedMarket(...LESS);
  const cut = await snapshot(listsOf(20, 60, 600_032));
  expect(cut.status).toBe("partial");
  expect(await current()).toEqual([52, 52]);
  expect(await snapshot(listsOf(40, 60, 600_012), 1000)).toMatchObject({ status: "complete", reasons: [] });
  expect(await current()).toEqual([40, 40]);
});

test("cuts of the past do not show that the other list counts something else", async () => {
  const { snapshot, current } = await countedMarket([WHOLE, 2 * DAY]);
  for (const later of [2 * DAY, 1000]) await snapshot(listsOf(20, 40), later);
  expect((await snapshot(WHOLE, 1000)).status).toBe("complete");
  const more = listsOf(40, 60);
  expect([(await snapshot(more)).status, (await snapshot(more, 1000)).status]).toEqual([
    "partial",
    "partial",
  ]);
  expect(await snapshot(more, 1000)).toMatchObject({ status: "complete", reasons: [] });
  expect(await current()).toEqual([40, 40]);
});

test("lists with repeats that another list counts, too, are whole", async () => {
  const { snapshot } = await countedMarket();
  const lists = listsOf(40, 80);
  const { count, data, ...others } = lists[SH] as { count: number; data: object[] };
  const universe = (lists[MEMBERS] as { data: { U: { symbols: string[] } } }).data.U;
  const symbols = [...universe.symbols, ...universe.symbols];
  expect(
    await snapshot({
      ...lists,
      [SH]: { ...others, count: 2 * count, data: [...data, ...data] },
      [MEMBERS]: { data: { U: { ...universe, symbol_count: 80, symbols } } },
    }),
  ).toMatchObject({ status: "complete", reasons: [] });
});

test("the lists of a served lake of the simulated market agree", async () => {
  const { service } = await serve(await apiLake(temporaryLake().location));
  onTestFinished(() => service.close());
  const clock = virtualClock(new Date(NOW).toISOString());
  const client = new ServiceClient({ baseUrl: service.url, apiKey: KEY, clock, retries: 0, timeoutMs: 0 });
  onTestFinished(() => client.close());
  const report = await runPipeline(definePipeline(REFERENCE), {}, { lake: temporaryLake(), client, clock });
  expect(report).toMatchObject({ status: "complete", failures: [] });
});
