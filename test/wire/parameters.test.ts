import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ADJUSTMENTS, PERIODS } from "../../src/market/period.js";
import { ERROR_STATUS } from "../../src/wire/error-body.js";
import { PARAMETERS, ParameterError, parseParameters } from "../../src/wire/parameters.js";

const symbols = (count: number): string => Array.from({ length: count }, (_, i) => `S${i}.US`).join(",");

/** The error of a query that breaks a rule. */
function refused(schema: (typeof PARAMETERS)[keyof typeof PARAMETERS], query: unknown): ParameterError {
  try {
    parseParameters(schema, query);
  } catch (error) {
    if (error instanceof ParameterError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(query)} was accepted`);
}

describe("klines of several symbols", () => {
  const schema = PARAMETERS.klinesBatch;
  const parse = (query: Record<string, string>) => parseParameters(schema, { symbols: "A.US", ...query });

  test("defaults", () => {
    expect(parse({})).toEqual({ symbols: ["A.US"], period: "1d", count: 100, adjust: "forward" });
  });

  test.each([
    ["0", 0],
    ["1", 1],
    ["10000", 10_000],
    ["null", 100],
    ["", 100],
  ])("count %j is %i", (count, expected) => {
    expect(parse({ count }).count).toBe(expected);
  });

  test.each([
    ["10001", "count is above 10000"],
    ["-1", "count is below 0"],
    ["1.5", "count is not an integer"],
    ["1e3", "count is not an integer"],
    ["ten", "count is not an integer"],
    [" 1", "count is not an integer"],
    ["99999999999999999999", "count is not an integer"],
    ["9999999999999999", "count is out of range"],
  ])("count %j: %s", (count, message) => {
    expect(refused(schema, { symbols: "A.US", count })).toMatchObject({ code: "INVALID_PARAMETER", message });
  });

  test("any number of symbols, in one text or in repeats; each counts once", () => {
    expect(parse({ symbols: symbols(5000) }).symbols).toHaveLength(5000);
    expect(parse({ symbols: `${symbols(100)}, S0.US,,S1.US` }).symbols).toHaveLength(100);
    expect(parseParameters(schema, { symbols: ["A.US,B.US", "C.US", "A.US"] }).symbols).toEqual([
      "A.US",
      "B.US",
      "C.US",
    ]);
    expect(refused(schema, { symbols: ["", ","] }).message).toBe("symbols is required");
  });

  test("what has one value is not repeated", () => {
    for (const name of ["count", "period", "start_time", "adjust"])
      expect(refused(schema, { symbols: "A.US", [name]: ["2", "3"] })).toMatchObject({
        code: "INVALID_PARAMETER",
        message: `${name} is given more than once`,
      });
  });

  test.each([[{}], [{ symbols: "" }], [{ symbols: " , " }], [undefined]])(
    "symbols are required: %j",
    (query) => {
      expect(refused(schema, query)).toMatchObject({
        code: "INVALID_PARAMETER",
        message: "symbols is required",
      });
    },
  );

  test("every period of the interface, and no other", () => {
    for (const period of PERIODS) expect(parse({ period }).period).toBe(period);
    for (const period of ["2m", "1D", "", "1mo", "toString"]) {
      const error = refused(schema, { symbols: "A.US", period });
      expect(error.code).toBe("INVALID_PERIOD");
      expect(error.message).toContain("period is not one of 1m, 5m");
    }
  });

  test("every adjustment of the interface, and no other", () => {
    for (const adjust of ADJUSTMENTS) expect(parse({ adjust }).adjust).toBe(adjust);
    expect(refused(schema, { symbols: "A.US", adjust: "split" })).toMatchObject({
      code: "INVALID_PARAMETER",
    });
  });

  test.each([
    ["0", 0],
    ["-1", -1],
    ["1700000000000", 1_700_000_000_000],
    ["null", undefined],
    ["", undefined],
    ["9223372036854775807", 8.64e15],
    ["-9223372036854775808", -8.64e15],
  ])("start_time and end_time %j: %d", (text, expected) => {
    const parsed = parse({ start_time: text, end_time: text });
    expect([parsed.start_time, parsed.end_time]).toEqual([expected, expected]);
  });

  test.each([
    ["9223372036854775808", "is out of range"],
    ["-9223372036854775809", "is out of range"],
    ["2024-01-01", "is not an integer"],
    ["1.5", "is not an integer"],
  ])("start_time and end_time %j: %s", (text, rule) => {
    expect(refused(schema, { symbols: "A.US", start_time: text }).message).toBe(`start_time ${rule}`);
    expect(refused(schema, { symbols: "A.US", end_time: text }).message).toBe(`end_time ${rule}`);
  });

  test("every int64 is a time, in order", () => {
    const anyInt64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(anyInt64, anyInt64, (a, b) => {
        const { start_time, end_time } = parse({ start_time: String(a), end_time: String(b) });
        expect(Math.sign((start_time as number) - (end_time as number))).toBeOneOf([0, a < b ? -1 : 1]);
        expect(new Date(start_time as number).getTime()).toBe(start_time);
      }),
    );
  });
});

describe("intraday klines", () => {
  test("of universes: count is 2 unless sent, at least 0, and has no upper bound", () => {
    const schema = PARAMETERS.intradayUniverse;
    expect(parseParameters(schema, { universes: "a,b" })).toMatchObject({
      universes: ["a", "b"],
      period: "1m",
      count: 2,
    });
    for (const count of ["0", "1", "10000", "10001"]) {
      expect(parseParameters(schema, { universes: "a", count }).count).toBe(Number(count));
    }
    expect(parseParameters(schema, { universes: "a", count: "null" }).count).toBe(2);
    expect(refused(schema, { universes: "a", count: "-1" }).message).toBe("count is below 0");
    expect(refused(schema, {}).message).toBe("universes is required");
    expect(refused(schema, { universes: "a", period: "1s" }).code).toBe("INVALID_PERIOD");
  });

  test("of one symbol", () => {
    expect(parseParameters(PARAMETERS.intraday, { symbol: "A.US" })).toMatchObject({
      symbol: "A.US",
      period: "1m",
    });
    expect(refused(PARAMETERS.intraday, { symbol: "A.US", period: "1d" }).code).toBe("INVALID_PERIOD");
    for (const query of [{}, { symbol: "" }])
      expect(refused(PARAMETERS.intraday, query).message).toBe("symbol is required");
  });
});

describe("reference data", () => {
  test("any number of instruments, at least one, by query and by body", () => {
    expect(parseParameters(PARAMETERS.instruments, { symbols: symbols(2000) }).symbols).toHaveLength(2000);
    const list = [...symbols(2000).split(","), "S0.US"];
    expect(parseParameters(PARAMETERS.instrumentsBatch, { symbols: list }).symbols).toHaveLength(2000);
    for (const [schema, empty] of [
      [PARAMETERS.instruments, ""],
      [PARAMETERS.instrumentsBatch, []],
    ] as const)
      expect(refused(schema, { symbols: empty }).message).toBe("symbols is required");
  });

  test.each([[{}], [{ ids: "a" }], [{ ids: [1] }], [{ ids: null }], [[]], ["text"], [5]])(
    "a body that is not one: %j",
    (body) => {
      expect(refused(PARAMETERS.universesBatch, body).code).toBe("INVALID_PARAMETER");
    },
  );

  test("financials: dates and the flag", () => {
    const schema = PARAMETERS.financials;
    const query = { symbols: "A.US", start_date: "2024-01-01", end_date: "2024-12-31", latest: "true" };
    expect(parseParameters(schema, query)).toEqual({ ...query, symbols: ["A.US"], latest: true });
    expect(parseParameters(schema, { symbols: "A.US" })).toEqual({ symbols: ["A.US"], latest: false });
    for (const bad of [{ start_date: "2024-02-30" }, { end_date: "20240101" }, { latest: "yes" }]) {
      const [name = ""] = Object.keys(bad);
      expect(refused(schema, { symbols: "A.US", ...bad }).message).toMatch(new RegExp(`^${name} is not`));
    }
  });
});

test("any query is accepted or refused with a code that has a status of 400", () => {
  const anyText = fc.oneof(
    fc.string(),
    fc.constantFrom("null", "0", "-1", "1d", "A.US", "true"),
    fc.array(fc.string()),
  );
  const anyQuery = fc.dictionary(
    fc.constantFrom(
      "symbols",
      "symbol",
      "universes",
      "ids",
      "period",
      "count",
      "start_time",
      "end_time",
      "adjust",
      "latest",
    ),
    anyText,
  );
  const names = Object.keys(PARAMETERS) as (keyof typeof PARAMETERS)[];
  fc.assert(
    fc.property(fc.constantFrom(...names), anyQuery, (name, query) => {
      try {
        expect(parseParameters(PARAMETERS[name], query)).toBeTypeOf("object");
      } catch (error) {
        expect(error).toBeInstanceOf(ParameterError);
        expect(ERROR_STATUS[(error as ParameterError).code]).toBe(400);
      }
    }),
    { numRuns: 500 },
  );
});
