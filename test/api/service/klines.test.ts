import { describe, expect, test } from "vitest";
import { IncompleteError, type KlineOptions } from "../../../src/api/service/kline-request.js";
import { ServiceError, UsageError } from "../../../src/core/errors.js";
import { json } from "../../faults/service/scripted-service.js";
import { DAYS, daily, KNOWN, scriptedKlines } from "./test-service.js";

const MAOTAI = ["600519.SH"];
const SINCE: KlineOptions = { from: "2026-11-02" };
const times = (rows: readonly { readonly timestamp: Date }[]): number[] =>
  rows.map(({ timestamp }) => timestamp.getTime());

describe("a window of bars", () => {
  test("comes whole in one request, as a table in the order of the request", async () => {
    const { scripted, service } = await scriptedKlines((seen, response) =>
      json(response, 200, { data: daily(seen) }),
    );
    const bars = await service.klines(KNOWN, { ...SINCE, to: "2026-11-12" });
    expect(bars.rows().map(({ symbol }) => symbol)).toEqual(KNOWN.flatMap((symbol) => Array(8).fill(symbol)));
    expect(times(bars.rows()).slice(0, 8)).toEqual(DAYS.slice(0, 8));
    expect(bars.report).toMatchObject({ issues: [], unknown: [], empty: [], open: [], requests: 1 });
    expect(bars.schema.metadata).toEqual(
      new Map([
        ["period", "1d"],
        ["adjust", "none"],
      ]),
    );
    const [asked] = scripted.seen;
    expect(Object.fromEntries(asked?.query ?? [])).toMatchObject({
      period: "1d",
      adjust: "none",
      count: "10000",
    });
    expect([Number(asked?.query.get("start_time")), Number(asked?.query.get("end_time"))]).toEqual([
      DAYS[0],
      (DAYS[8] as number) - 1,
    ]);
  });

  test.each([2, 3, 14])("is followed to completeness where responses are cut at %d bars", async (cap) => {
    const { service } = await scriptedKlines((seen, response) =>
      json(response, 200, { data: daily(seen, cap) }),
    );
    const bars = await service.klines(KNOWN, { ...SINCE, strict: true });
    expect(times(bars.rows())).toEqual([...DAYS, ...DAYS, ...DAYS]);
    const streamed: number[] = [];
    for await (const batch of service.klines.stream(MAOTAI, SINCE))
      for (const row of batch) streamed.push(Number(row.timestamp));
    expect(streamed).toEqual(DAYS);
  });

  test("has the newest bars where a count is given, however few a response has", async () => {
    const { service } = await scriptedKlines((seen, response) =>
      json(response, 200, { data: daily(seen, 4) }),
    );
    const bars = await service.klines(KNOWN, { count: 6, strict: true });
    expect(times(bars.rows())).toEqual([...DAYS.slice(-6), ...DAYS.slice(-6), ...DAYS.slice(-6)]);
    expect((await service.klines(MAOTAI, { count: 100 })).numRows).toBe(DAYS.length);
  });

  test("that has not begun is not requested", async () => {
    const { scripted, service } = await scriptedKlines((_, response) => json(response, 200, { data: {} }));
    for (const options of [{ from: "2030-01-01" }, { from: "2030-01-01", count: 5 }])
      expect((await service.klines(MAOTAI, options)).report).toMatchObject({ requests: 0, empty: MAOTAI });
    expect(scripted.count("/v1/klines/batch")).toBe(0);
  });

  test("is requested of fewer symbols at once where the service permits no more", async () => {
    const { scripted, service } = await scriptedKlines((seen, response) => {
      if ((seen.query.get("symbols") ?? "").split(",").length <= 1)
        json(response, 200, { data: daily(seen) });
      else json(response, 400, { code: "INVALID_PARAMETER", message: "too many symbols: at most 1" });
    });
    expect((await service.klines(KNOWN, SINCE)).numRows).toBe(3 * DAYS.length);
    expect(scripted.seen).toHaveLength(4);
    await service.klines(KNOWN, SINCE);
    expect(scripted.seen).toHaveLength(7);
  });
});

describe("what is wrong with responses", () => {
  test("is in the report: a bad bar is set aside, the others come", async () => {
    const { service } = await scriptedKlines((seen, response) => {
      const data = daily(seen);
      const { high = [] } = data["600519.SH"] ?? {};
      high[3] = 1;
      json(response, 200, { data });
    });
    const bars = await service.klines(MAOTAI, SINCE);
    expect(bars.numRows).toBe(DAYS.length - 1);
    expect(bars.issues).toMatchObject([{ rule: "high_below_low", symbol: "600519.SH", rejected: 1 }]);
    const error: unknown = await service
      .klines(MAOTAI, { ...SINCE, strict: true })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error).toMatchObject({
      message: "klines: 600519.SH: 1 bars were set aside (high_below_low)",
      report: { rejected: 1 },
    });
  });

  test("names unknown symbols, and those without a bar, after a second request", async () => {
    const { scripted, service } = await scriptedKlines((seen, response) => {
      const { "600519.SH": maotai = {} } = daily(seen);
      json(response, 200, {
        data: seen.query.get("symbols")?.includes("600519") ? { "600519.SH": maotai } : {},
      });
    });
    const { report } = await service.klines([...MAOTAI, "000001.SZ", "999999.SH"], SINCE);
    expect(report).toMatchObject({ unknown: ["999999.SH"], empty: ["000001.SZ"], open: [] });
    expect(scripted.count("/v1/klines/batch")).toBe(1);
    const none = await service.klines(["999999.SH"], SINCE);
    expect(none.numRows).toBe(0);
    expect(none.schema.names).toContain("close");
    expect(none.report.unknown).toEqual(["999999.SH"]);
    expect(scripted.count("/v1/klines/batch")).toBe(3);
    await expect(service.klines(["999999.SH"], { ...SINCE, strict: true })).rejects.toThrow(
      "klines: the service does not know 999999.SH",
    );
  });

  test("an empty response is asked again: it can be a passing fault", async () => {
    const { service } = await scriptedKlines((seen, response, index) =>
      json(response, 200, { data: index === 0 ? {} : daily(seen) }),
    );
    const bars = await service.klines(KNOWN, { ...SINCE, strict: true });
    expect(bars.numRows).toBe(3 * DAYS.length);
  });

  test("bars of another period never count", async () => {
    const { service } = await scriptedKlines((seen, response) => {
      const data = daily(seen);
      const { timestamp } = data["600519.SH"] as { timestamp: number[] };
      for (const [n] of timestamp.entries()) timestamp[n] = (DAYS[0] as number) + n * 60_000;
      json(response, 200, { data });
    });
    const { numRows, report } = await service.klines(KNOWN, SINCE);
    expect(numRows).toBe(2 * DAYS.length);
    expect(report.open).toMatchObject([{ symbol: "600519.SH", reason: "other_period" }]);
  });

  test("a refusal is thrown", async () => {
    const { service } = await scriptedKlines((_, response) =>
      json(response, 403, { code: "FORBIDDEN", message: "not this key" }),
    );
    await expect(service.klines(MAOTAI, SINCE)).rejects.toThrow(ServiceError);
  });
});

test("requests end when a stream is left, and with the caller's signal", async () => {
  const caller = new AbortController();
  const reason = new Error("enough");
  // No response comes before the caller gives up.
  const { scripted, service } = await scriptedKlines(() => caller.abort(reason));
  await expect(service.klines(MAOTAI, { ...SINCE, signal: caller.signal })).rejects.toBe(reason);
  scripted.script = (seen, response) => json(response, 200, { data: daily(seen) });
  for await (const batch of service.klines.stream(MAOTAI, SINCE)) {
    expect(batch.numRows).toBe(DAYS.length);
    break;
  }
});

test.each([
  [[], SINCE, "klines: symbols is not a list of at least one symbol"],
  [["600519"], SINCE, 'symbol "600519" is not of the form'],
  [["600519.XX"], SINCE, "klines: the exchange of 600519.XX is not known"],
  [MAOTAI, {}, "klines: neither from nor count is given"],
  [MAOTAI, { ...SINCE, period: "2d" }, 'klines: period: "2d" is not one of 1m, 5m'],
  [MAOTAI, { ...SINCE, adjust: "yes" }, 'klines: adjust: "yes" is not one of forward'],
  [MAOTAI, { from: "2026-02-30" }, 'klines: from: "2026-02-30" is not a date'],
  [MAOTAI, { from: "soon" }, 'klines: from: "soon" is no time'],
  [MAOTAI, { ...SINCE, to: "2026-11-02" }, 'klines: to: "2026-11-02" does not come after from'],
  [MAOTAI, { count: 0 }, "klines: count: 0 is not a whole number from 1 to 10000"],
] as const)("refuses %j %j", async (symbols, options, message) => {
  const { scripted, service } = await scriptedKlines((_, response) => json(response, 200, { data: {} }));
  const ask = async () => service.klines(symbols, options as KlineOptions);
  await expect(ask()).rejects.toThrow(UsageError);
  await expect(ask()).rejects.toThrow(message);
  expect(() => service.klines.stream(symbols, options as KlineOptions)).toThrow(message);
  expect(scripted.seen).toEqual([]);
});
