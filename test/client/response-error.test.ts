import { describe, expect, test } from "vitest";
import { isTooManySymbols, statesNotOffered, symbolLimitOf } from "../../src/client/response-error.js";
import { ServiceError, TransportError } from "../../src/core/errors.js";

function refusal(status: number, code: string, serverMessage?: string): ServiceError {
  return new ServiceError(`GET /v1/symbols: ${code} (status ${status}): ${serverMessage}`, {
    status,
    code,
    serverMessage,
  });
}

describe("too many symbols", () => {
  test.each<[number, string, string, number | undefined]>([
    [400, "TOO_MANY_SYMBOLS", "no", undefined],
    [400, "INVALID_PARAMETER", "symbols: has more than 100 entries", 100],
    [400, "INVALID_PARAMETER", "too many symbols: 120, at most 50 per request", 50],
    [400, "INVALID_PARAMETER", "120 symbols exceed the limit of 100", 100],
    [400, "BATCH_LIMIT", "Symbol count 101 exceeds maximum 100", 100],
    [400, "LIMIT_EXCEEDED", "symbols (max: 200), got 250", 200],
    [400, "INVALID_PARAMETER", "symbols must hold 1 to 80 items, up to that", 80],
    [400, "INVALID_PARAMETER", "number of symbols must be between 1 and 30", 30],
    [400, "INVALID_PARAMETER", "单次最多 100 个标的", 100],
    [400, "INVALID_PARAMETER", "股票代码数量超过上限100", 100],
    [413, "PAYLOAD_TOO_LARGE", "body is larger than 1 MiB", undefined],
    [413, "TOO_LARGE", "at most 1000 symbols", 1000],
    [414, "HTTP_414", "", undefined],
  ])("%i %s: %s", (status, code, serverMessage, limit) => {
    const error = refusal(status, code, serverMessage);
    expect(isTooManySymbols(error)).toBe(true);
    expect(symbolLimitOf(error)).toBe(limit);
  });

  test.each<[number, string, string | undefined]>([
    [400, "INVALID_PERIOD", "period 2m is not known"],
    [400, "INVALID_PARAMETER", "symbols: is required"],
    [400, "INVALID_PARAMETER", "count must be at most 10000"],
    [400, "HTTP_400", undefined],
    [404, "SYMBOL_NOT_FOUND", "too many symbols are unknown"],
    [429, "RATE_LIMITED", "too many symbols a minute, limit 100"],
    [500, "INTERNAL", "too many symbols"],
  ])("is not meant by %i %s: %s", (status, code, serverMessage) => {
    const error = refusal(status, code, serverMessage);
    expect(isTooManySymbols(error)).toBe(false);
    expect(symbolLimitOf(error)).toBeUndefined();
  });

  test("is not meant by other errors", () => {
    for (const error of [new TransportError("too many symbols"), new Error("too many symbols"), undefined])
      expect(isTooManySymbols(error)).toBe(false);
  });
});

test.each<[boolean, number, string]>([
  [true, 403, "NO_FINANCIAL_PERMISSION"],
  [true, 404, "NOT_FOUND"],
  [false, 403, "FORBIDDEN"],
  [false, 403, "HTTP_403"],
  [false, 403, "NOT_FOUND"],
  [false, 404, "NO_ROUTE"],
  [false, 404, "HTTP_404"],
  [false, 404, "SYMBOL_NOT_FOUND"],
  [false, 503, "NO_FINANCIAL_PERMISSION"],
])("whether the service states that it does not offer an endpoint: %s for %i %s", (states, status, code) => {
  expect(statesNotOffered(refusal(status, code))).toBe(states);
});
