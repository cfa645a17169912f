import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { json } from "../../faults/service/scripted-service.js";
import { liveRows, openSession } from "../../lake/temporary-lake.js";
import { landReference } from "../../serve/served-lake.js";
import { filledMarket, scriptedMarket } from "../scripted-market.js";

const DAY = 86_400_000;
const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const CODES = ["600000", "600001", "600519"];
const SYMBOLS = CODES.map((code) => `${code}.SH`);

const instrument = (code: string) => {
  return { symbol: `${code}.SH`, code, exchange: "SH", region: "CN", name: `n${code}`, type: "stock" };
};
const universe = (count = 3) => ({ id: "U", name: "u", category: "c", region: "CN", symbol_count: count });

/** Bodies of the responses, by path. */
function listsOf(symbols: readonly string[], codes: readonly string[]): Record<string, unknown> {
  return {
    "/v1/exchanges": { data: [{ exchange: "SH", region: "CN", count: codes.length }] },
    "/v1/exchanges/SH/instruments": { count: codes.length, exchange: "SH", data: codes.map(instrument) },
    "/v1/universes": { data: [universe(symbols.length)] },
    "/v1/universes/batch": { data: { U: { ...universe(symbols.length), symbols } } },
  };
}

/** A lake with three instruments and a universe of them; responses that are given replace those of the service. */
async function referenceMarket() {
  const right = listsOf(SYMBOLS, CODES);
  const state = { lists: right };
  const parts = await filledMarket(
    (seen, response) => json(response, 200, state.lists[seen.path]),
    "2024-01-13T00:00:00Z",
    { filledBy: import.meta.url, name: "reference" },
    async (first) => expect((await first(REFERENCE)).status).toBe("complete"),
  );
  const { run, clock, lake } = parts;
  clock.advance(2 * DAY);
  const snapshot = (lists: Record<string, unknown>) => {
    state.lists = { ...right, ...lists };
    clock.advance(1000);
    return run(REFERENCE);
  };
  const session = await openSession();
  const current = async (table: typeof INSTRUMENTS): Promise<number> => {
    const sql = "SELECT count(*)::INT AS n FROM live WHERE valid_to IS NULL";
    const [row] = await liveRows(session, lake, table, sql);
    return (row as { n: number }).n;
  };
  return { ...parts, right, snapshot, current };
}

const SH = "/v1/exchanges/SH/instruments";
const MEMBERS = "/v1/universes/batch";

test.each([
  [
    "are empty",
    {
      "/v1/exchanges": { data: [] },
      [SH]: { count: 3, exchange: "SH", data: [] },
      "/v1/universes": { data: [] },
      [MEMBERS]: { data: { U: { ...universe(), symbols: [] } } },
    },
  ],
  [
    "are empty and give their length as 0, or lack a universe",
    { [SH]: { count: 0, exchange: "SH", data: [] }, [MEMBERS]: { data: {} } },
  ],
  [
    "are shorter than they say",
    {
      [SH]: { count: 3, exchange: "SH", data: [instrument("600519")] },
      [MEMBERS]: { data: { U: { ...universe(), symbols: ["600519.SH"] } } },
    },
  ],
  [
    "are partly unreadable, or have another universe under a name",
    {
      "/v1/exchanges": { data: [{ exchange: "SH" }] },
      [SH]: { count: 3, exchange: "SH", data: [instrument("600519"), instrument("600000"), { symbol: 5 }] },
      [MEMBERS]: { data: { U: { ...universe(0), id: "V", symbols: [] } } },
    },
  ],
  [
    "have an instrument of another exchange, or a universe's length of 0",
    {
      [SH]: { data: [instrument("600519"), { ...instrument("000001"), symbol: "000001.SZ" }] },
      [MEMBERS]: { data: { U: { ...universe(0), symbols: [] } } },
    },
  ],
])(
  "lists that %s: nothing ends, the run is partial, and the next one requests them again",
  async (_, lists) => {
    const { service, snapshot, current } = await referenceMarket();
    const report = await snapshot(lists);
    expect(report.status).toBe("partial");
    expect(report.failures).toHaveLength(Object.keys(lists).length);
    for (const { reason } of report.failures) expect(reason).toContain("nothing ends");
    const expectWhole = async (): Promise<void> => {
      expect([await current(EXCHANGES), await current(INSTRUMENTS)]).toEqual([1, 3]);
      expect([await current(UNIVERSES), await current(UNIVERSE_MEMBERS)]).toEqual([1, 3]);
    };
    await expectWhole();
    const before = service.seen.length;
    expect((await snapshot({})).status).toBe("complete");
    expect(service.seen.slice(before).map(({ path }) => path)).toEqual(Object.keys(lists));
    await expectWhole();
  },
);

test("a list that agrees with its length ends what it lacks; the last element ends where two responses say so", async () => {
  const { snapshot, current, clock } = await referenceMarket();
  const fewer = await snapshot(listsOf(SYMBOLS.slice(1), CODES.slice(1)));
  expect(fewer).toMatchObject({ status: "complete", failures: [] });
  expect([await current(INSTRUMENTS), await current(UNIVERSE_MEMBERS)]).toEqual([2, 2]);
  clock.advance(2 * DAY);
  expect(await snapshot(listsOf([], []))).toMatchObject({ status: "complete", failures: [] });
  expect([await current(INSTRUMENTS), await current(UNIVERSE_MEMBERS)]).toEqual([0, 0]);
});

test("a length that counts equal repeats is explained: the run is complete, ends what is not listed, and reports the repeats", async () => {
  const { snapshot, current, service } = await referenceMarket();
  const twice = [instrument("600519"), instrument("600000"), instrument("600519")];
  const report = await snapshot({
    [SH]: { count: 3, exchange: "SH", data: twice },
    [MEMBERS]: { data: { U: { ...universe(4), symbols: [...SYMBOLS.slice(1), ...SYMBOLS.slice(1)] } } },
  });
  expect(report).toMatchObject({ status: "complete", failures: [] });
  expect(report.rejected).toMatchObject([
    { rule: "duplicate_key", rows: 2 },
    { rule: "duplicate_key", rows: 1 },
  ]);
  expect([await current(INSTRUMENTS), await current(UNIVERSE_MEMBERS)]).toEqual([2, 2]);
  const before = service.seen.length;
  expect((await snapshot({})).status).toBe("complete");
  expect(service.seen.length).toBe(before);
});

test("repeats that differ explain nothing: the run is partial", async () => {
  const { snapshot, current } = await referenceMarket();
  const twice = [instrument("600519"), instrument("600000"), { ...instrument("600519"), name: "other" }];
  const report = await snapshot({ [SH]: { count: 3, exchange: "SH", data: twice } });
  expect(report.status).toBe("partial");
  expect(report.failures[0]?.reason).toContain("it has 2 elements, and the response gives their number as 3");
  expect(await current(INSTRUMENTS)).toBe(3);
});

test("an exchange without instruments and a universe without members are complete", async () => {
  const lists = listsOf([], []);
  const { run } = await scriptedMarket(
    (seen, response) => json(response, 200, lists[seen.path]),
    "2024-01-13T00:00:00Z",
  );
  expect(await run(REFERENCE)).toMatchObject({ status: "complete", requests: { sent: 4 } });
  expect(await run(REFERENCE)).toMatchObject({ status: "complete", requests: { sent: 0 } });
});

test("of several universes in one response, only the short one is requested again", async () => {
  const both = ["U", "V"].map((id) => ({ ...universe(1), id }));
  const state = { symbols: [] as string[] };
  const { run, service } = await scriptedMarket((seen, response) => {
    if (seen.path === "/v1/exchanges") return json(response, 200, { data: [] });
    if (seen.path === "/v1/universes") return json(response, 200, { data: both });
    const { ids } = JSON.parse(seen.body) as { ids: string[] };
    const detail = (id: string) => ({
      ...universe(1),
      id,
      symbols: id === "U" ? state.symbols : ["600519.SH"],
    });
    json(response, 200, { data: Object.fromEntries(ids.map((id) => [id, detail(id)])) });
  }, "2024-01-13T00:00:00Z");
  expect((await run(REFERENCE)).failures).toHaveLength(1);
  state.symbols = ["600000.SH"];
  expect((await run(REFERENCE)).status).toBe("complete");
  expect(service.seen.slice(3).map(({ body }) => body)).toEqual(['{"ids":["U"]}']);
});

test("texts that are no symbols do not land and are not requested; each is an issue, and nothing ends", async () => {
  const { service, run, snapshot, current, clock, lake } = await referenceMarket();
  const bad = ["600519.SH,000001.SZ", "../x", "a'b.SH", `${"X".repeat(5000)}.SH`, "n\u0000l.SH", "\ud800.SH"];
  const symbols = ["600519.SH", ...bad];
  const report = await snapshot({
    [MEMBERS]: { data: { U: { ...universe(symbols.length), symbols } } },
    [SH]: {
      count: 2,
      exchange: "SH",
      data: [instrument("600519"), { ...instrument("1"), symbol: "a b.SH" }],
    },
  });
  expect(report.status).toBe("partial");
  expect(report.rejected).toMatchObject([
    { rule: "bad_symbol", rows: bad.length },
    { rule: "bad_symbol", rows: 1 },
  ]);
  expect([await current(INSTRUMENTS), await current(UNIVERSE_MEMBERS)]).toEqual([3, 3]);
  // Lakes of earlier versions have such members.
  await landReference(lake, UNIVERSE_MEMBERS, [{ id: "U", symbol: "600519.SH,000001.SZ", region: "CN" }]);
  clock.advance(1000);
  const before = service.seen.length;
  await run({ name: "daily", kind: "bars", period: "1d", from: "2024-01-08" }, { universes: ["U"] });
  const requested = service.seen.slice(before).map(({ query }) => query.get("symbols"));
  expect(new Set(requested)).toEqual(new Set([SYMBOLS.join(",")]));
});
