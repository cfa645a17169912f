import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { STATEMENTS } from "../../../src/schema/statements.js";
import { addKey, type KeyGrant, keyFile } from "../../../src/serve/keys/key-records.js";
import { StoredKeys } from "../../../src/serve/keys/key-ring.js";
import {
  ENDPOINT_GROUPS,
  ENDPOINTS,
  type Endpoint,
  type EndpointName,
  pathOf,
} from "../../../src/wire/endpoints.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import {
  landedBar,
  landFinancials,
  landReference,
  landRows,
  NOW,
  newLake,
  type Served,
  serve,
  serveForTest,
} from "../served-lake.js";

const bar = (symbol: string) => landedBar(symbol, "2024-01-01T16:00:00Z");
const IN = "600000.SH";
const OUT = "600001.SH";

const { lake, remove } = newLake();
beforeAll(async () => {
  for (const table of [BARS_1D, BARS_1M]) await landRows(lake, table, [bar(IN), bar(OUT)]);
  const stocks = [IN, OUT].map((symbol) => ({
    symbol,
    code: symbol.slice(0, 6),
    exchange: "SH",
    region: "CN",
    type: "stock",
  }));
  await landReference(lake, INSTRUMENTS, stocks);
  const universes = ["mine", "other"].map((id) => ({
    id,
    name: id,
    category: "c",
    symbol_count: 1,
    region: "CN",
  }));
  await landReference(lake, UNIVERSES, universes);
  await landReference(lake, EXCHANGES, [
    { exchange: "SH", count: 2, region: "CN" },
    { exchange: "HK", count: 5, region: "HK" },
  ]);
  await landReference(lake, UNIVERSE_MEMBERS, [
    { id: "mine", symbol: IN, region: "CN" },
    { id: "other", symbol: OUT, region: "CN" },
  ]);
  const sheet = { period_end: "2023-12-31", announce_date: "2024-03-01", total_assets: 1 };
  for (const table of Object.values(STATEMENTS))
    await landFinancials(
      lake,
      table,
      [IN, OUT].map((symbol) => ({ symbol, ...sheet })),
    );
});
afterAll(remove);

/** A service whose only key has these permissions, and a way to ask it with that key. */
async function servedTo(grant: KeyGrant) {
  const path = join(temporaryFolder(), "keys.json");
  const key = await addKey(keyFile(path), "alice", grant, NOW);
  const keys = await StoredKeys.open(keyFile(path), { now: () => NOW, sleep: async () => {} }, () => {});
  const served: Served = await serve(lake, { keys });
  const ask = (target: string, body?: unknown) =>
    served.ask<{ code?: string; message?: string; data?: unknown }>(target, {
      headers: { "x-api-key": key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  return { ask, close: () => served.service.close() };
}

/** A right request to each endpoint, for a symbol and a universe. */
function requestTo(name: EndpointName, symbol: string, universe: string): [path: string, body?: object] {
  const path = pathOf(ENDPOINTS[name], { exchange: "SH", id: universe });
  if (name === "universesBatch") return [path, { ids: [universe] }];
  if (ENDPOINTS[name].method === "POST") return [path, { symbols: [symbol] }];
  const query = name === "intradayUniverse" ? `universes=${universe}` : `symbols=${symbol}&symbol=${symbol}`;
  return [`${path}?${query}`];
}

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

describe("a key for groups of endpoints", () => {
  test.each(ENDPOINT_GROUPS)("%s: may ask for these, and is refused the others", async (group) => {
    const { ask, close } = await servedTo({ allow: [group] });
    for (const name of NAMES) {
      const { status, body } = await ask(...requestTo(name, IN, "mine"));
      if (ENDPOINTS[name].group === group) expect([name, status]).toEqual([name, 200]);
      else {
        const message = `alice may not ask for ${ENDPOINTS[name].group}`;
        const { refusal }: Endpoint = ENDPOINTS[name];
        expect([name, status, body]).toEqual([name, 403, { code: refusal ?? "FORBIDDEN", message }]);
      }
    }
    await close();
  });
});

describe("a key for universes", () => {
  const NOT_OF_SYMBOLS = new Set<EndpointName>(["universes", "exchanges", "exchangeInstruments"]);

  test("may ask for their members, everywhere, and for no others", async () => {
    const { ask, close } = await servedTo({ universes: ["mine"] });
    for (const name of NAMES) {
      const mine = await ask(...requestTo(name, IN, "mine"));
      expect([name, mine.status]).toEqual([name, 200]);
      if (NOT_OF_SYMBOLS.has(name)) continue;
      const { status, body } = await ask(...requestTo(name, OUT, "other"));
      expect([name, status, body.code]).toEqual([name, 403, "FORBIDDEN"]);
      expect(body.message).toMatch(/^alice may not ask for (symbol "600001\.SH"|universe "other")$/);
    }
    await close();
  });

  test("sees only these in lists", async () => {
    const { ask, close } = await servedTo({ universes: ["mine"] });
    expect((await ask("/v1/universes")).body.data).toMatchObject([{ id: "mine" }]);
    expect((await ask("/v1/exchanges")).body.data).toEqual([{ exchange: "SH", region: "CN", count: 1 }]);
    expect((await ask("/v1/exchanges/SH/instruments")).body).toMatchObject({
      count: 1,
      data: [{ symbol: IN }],
    });
    await close();
  });
});

test("each key has a separate limit of symbols", async () => {
  const { ask, close } = await servedTo({ maxSymbols: 1 });
  expect((await ask(`/v1/klines/batch?symbols=${IN}`)).status).toBe(200);
  expect((await ask(`/v1/klines/batch?symbols=${IN},${OUT}`)).body).toEqual({
    code: "INVALID_PARAMETER",
    message: "symbols has more than 1 entries",
  });
  await close();
});

test("a key without a number of symbols has the service's", async () => {
  const path = join(temporaryFolder(), "keys.json");
  const key = await addKey(keyFile(path), "alice", {}, NOW);
  const keys = await StoredKeys.open(keyFile(path), { now: () => NOW, sleep: async () => {} }, () => {});
  const { ask } = await serveForTest(async () => {}, { keys, maxSymbols: 1 });
  const { status } = await ask("/v1/klines/batch?symbols=A.US,B.US", { headers: { "x-api-key": key } });
  expect(status).toBe(400);
});

test("order books are refused to every key, as a plan without them refuses", async () => {
  const { ask, close } = await servedTo({});
  for (const path of ["/v1/depth?symbol=x", "/v1/depth/batch?symbols=x"]) {
    const { status, body } = await ask(path);
    expect([status, body.code]).toEqual([403, "NO_DEPTH_PERMISSION"]);
  }
  await close();
});

test("each key has a separate limit of requests a minute", async () => {
  const path = join(temporaryFolder(), "keys.json");
  const [slow, fast] = [
    await addKey(keyFile(path), "slow", { requestsPerMinute: 1 }, NOW),
    await addKey(keyFile(path), "fast", {}, NOW),
  ];
  const keys = await StoredKeys.open(keyFile(path), { now: () => NOW, sleep: async () => {} }, () => {});
  const { ask } = await serveForTest(async () => {}, { keys, maxRequestsPerMinute: 3 });
  const times = async (key: string, count: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n++)
      statuses.push((await ask("/v1/universes", { headers: { "x-api-key": key } })).status);
    return statuses;
  };
  expect(await times(slow, 2)).toEqual([200, 429]);
  expect(await times(fast, 4)).toEqual([200, 200, 200, 429]);
});
