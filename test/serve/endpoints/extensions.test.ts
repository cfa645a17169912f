import { expect, test } from "vitest";
import { ADJUSTMENTS } from "../../../src/market/period.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { landedBar, landReference, landRows, serveForFile } from "../served-lake.js";
import { goldenResponses } from "./golden-responses.js";

/** Local midnight of a date. */
const cn = (date: string): number => Date.parse(`${date}T00:00:00+08:00`);
const hk = cn;
const minute = (n: number): number => Date.parse("2024-03-15T01:30:00Z") + n * 60_000;

const bar = (symbol: string, at: number, close: number, prev_close: number | null = null) =>
  landedBar(symbol, at, close, { volume: 7, amount: 700, prev_close });

const data = async (path: string): Promise<unknown> => {
  const { status, body } = await served.ask<{ data: unknown }>(path);
  expect([path, status]).toEqual([path, 200]);
  return body.data;
};

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1D, [
    bar("600000.SH", cn("2024-03-11"), 10),
    bar("600000.SH", cn("2024-03-12"), 4.9, 5),
    bar("600000.SH", cn("2024-03-13"), 5, 4.9),
    bar("600000.SH", cn("2024-03-14"), 4, 4.5),
    bar("00700.HK", hk("2024-03-12"), 300),
    bar("00700.HK", hk("2024-03-13"), 290, 297),
  ]);
  await landRows(
    lake,
    BARS_1M,
    [1, 2, 3].flatMap((n) => [bar("600000.SH", minute(n), 4 + n / 100), bar("600001.SH", minute(n), 9)]),
  );
  const known = ["600000.SH", "600003.SH"].map((symbol) => {
    return { symbol, code: symbol.slice(0, 6), exchange: "SH", region: "CN", type: "stock" };
  });
  await landReference(lake, INSTRUMENTS, known);
  await landReference(lake, UNIVERSES, [
    { id: "u", name: "U", category: "c", symbol_count: 1, region: "CN", description: "one" },
  ]);
  await landReference(lake, UNIVERSE_MEMBERS, [{ id: "u", symbol: "600000.SH", region: "CN" }]);
});

goldenResponses(served, "extensions");

test.each(ADJUSTMENTS)(
  "GET /v1/klines gives what the batch gives of that symbol, adjusted %s",
  async (adjust) => {
    for (const more of ["", "&count=2", "&period=1w", `&start_time=${cn("2024-03-12")}`, "&period=5m"]) {
      const one = await data(`/v1/klines?symbol=600000.SH&adjust=${adjust}${more}`);
      const batch = await data(`/v1/klines/batch?symbols=600000.SH&adjust=${adjust}${more}`);
      expect([more, { "600000.SH": one }]).toEqual([more, batch]);
    }
  },
);

const FACTORS = [
  { timestamp: cn("2024-03-12"), ex_factor: 2 },
  { timestamp: cn("2024-03-14"), ex_factor: 5 / 4.5 },
];

test("GET /v1/klines/ex-factors gives those by which the bars are adjusted forward: the product of all after a bar", async () => {
  const [raw, forward] = await Promise.all(
    ["none", "forward"].map((adjust) => data(`/v1/klines?symbol=600000.SH&adjust=${adjust}`)),
  );
  const { timestamp, close } = raw as { timestamp: number[]; close: number[] };
  const expected = close.map((price, n) =>
    FACTORS.filter((event) => event.timestamp > (timestamp[n] as number)).reduce(
      (left, { ex_factor }) => left / ex_factor,
      price,
    ),
  );
  for (const [n, price] of (forward as { close: number[] }).close.entries())
    expect(price).toBeCloseTo(expected[n] as number, 12);
});

test("GET /v1/klines/intraday/batch gives what the intraday endpoint gives of each symbol; an unknown one is absent", async () => {
  for (const more of ["", "&count=2", "&period=5m"]) {
    const batch = await data(`/v1/klines/intraday/batch?symbols=600000.SH,600001.SH,600009.SH${more}`);
    const [first, second] = await Promise.all(
      ["600000.SH", "600001.SH"].map((symbol) => data(`/v1/klines/intraday?symbol=${symbol}${more}`)),
    );
    expect(batch).toEqual({ "600000.SH": first, "600001.SH": second });
  }
});

test("GET /v1/quotes gives what the POST gives", async () => {
  const post = async (body: object): Promise<unknown> =>
    (await served.post<{ data: unknown }>("/v1/quotes", body)).body.data;
  expect(await data("/v1/quotes?symbols=00700.HK,600001.SH")).toEqual(
    await post({ symbols: ["00700.HK", "600001.SH"] }),
  );
  expect(await data("/v1/quotes?universes=u&symbols=00700.HK")).toEqual(
    await post({ universes: ["u"], symbols: ["00700.HK"] }),
  );
});

test("GET /v1/universes/{id} gives what the batch gives of that universe", async () => {
  const batch = await served.post<{ data: object }>("/v1/universes/batch", { ids: ["u"] });
  expect({ u: await data("/v1/universes/u") }).toEqual(batch.body.data);
});
