import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_STATUS, parseErrorBody, retryAfterMs } from "../../src/wire/error-body.js";

const NOW = Date.parse("2024-03-08T12:00:00Z");

describe("an error body", () => {
  test("is read with any other members", () => {
    const body = {
      code: "SYMBOL_NOT_FOUND",
      message: "X.US is unknown",
      details: { symbol: "X.US" },
      trace: 5,
    };
    expect(parseErrorBody(JSON.stringify(body))).toEqual(body);
    expect(parseErrorBody('{"code":"A","message":""}')).toEqual({ code: "A", message: "" });
  });

  test.each([
    "<html>502 Bad Gateway</html>",
    "",
    "null",
    "[]",
    "{}",
    '{"code":"A"}',
    '{"code":5,"message":"x"}',
    '{"code":"A","message":',
  ])("%j is none", (text) => {
    expect(parseErrorBody(text)).toBeUndefined();
  });

  test("any text is read or is none, without an exception", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const body = parseErrorBody(text);
        if (body !== undefined) expect([typeof body.code, typeof body.message]).toEqual(["string", "string"]);
        else expect(body).toBeUndefined();
      }),
    );
  });

  test("every code has a status that is an error", () => {
    for (const status of Object.values(ERROR_STATUS)) expect(status).toBeGreaterThanOrEqual(400);
    expect([
      ERROR_STATUS.INVALID_PERIOD,
      ERROR_STATUS.SYMBOL_NOT_FOUND,
      ERROR_STATUS.INTRADAY_UNAVAILABLE,
    ]).toEqual([400, 404, 503]);
  });
});

describe("the wait that is asked for", () => {
  test.each<[string, string, string | undefined, number | undefined]>([
    ["in the message", "rate limited, retry in 39351ms please", undefined, 39_351],
    ["in the message, apart from its unit", "wait 44 ms", undefined, 44],
    ["in the message, with a fraction: rounded up", "wait 0.5ms", undefined, 1],
    ["in the message, though the header says otherwise", "wait 39351ms", "40", 39_351],
    ["in the header, in seconds", "slow down", "2", 2000],
    ["in the header, with a fraction", "slow down", "0.25", 250],
    ["in the header, as a date", "slow down", "Fri, 08 Mar 2024 12:00:30 GMT", 30_000],
    ["nowhere", "slow down", undefined, undefined],
    ["in the message as 0, which is no hint", "wait 0ms", undefined, undefined],
    ["in the message as 0, and in the header", "wait 0ms", "3", 3000],
    ["in the header as 0, which is no hint", "slow down", "0", undefined],
    ["in the header as a date that has passed", "slow down", "Fri, 08 Mar 2024 11:00:00 GMT", undefined],
    ["in the header as nonsense", "slow down", "soon", undefined],
    ["in the header as nothing", "slow down", "", undefined],
    ["in the message, in seconds", "too many requests, retry in 2 seconds", undefined, 2000],
    ["in the header, and in the message's seconds", "retry after 3s", "2", 2000],
    ["as the period of a limit, which is no wait", "60 requests per 60 seconds", undefined, undefined],
    ["in another unit", "within 30 minutes, or 5 msgs", undefined, undefined],
    ["as more than anyone means", "wait 99999999999ms", undefined, 900_000],
    ["as more than a number holds", `wait ${"9".repeat(400)}ms`, undefined, undefined],
  ])("%s", (_, message, header, expected) => {
    expect(retryAfterMs(message, header, NOW)).toBe(expected);
  });

  test("it is a whole number of milliseconds above 0, or unknown, for any text", () => {
    const anyMessage = fc.oneof(
      fc.string(),
      fc.double().map((n) => `wait ${n}ms`),
    );
    fc.assert(
      fc.property(anyMessage, fc.option(fc.string(), { nil: undefined }), (message, header) => {
        const wait = retryAfterMs(message, header, NOW) ?? 1;
        expect(Number.isInteger(wait) && wait > 0 && wait <= 900_000).toBe(true);
      }),
    );
  });
});
