import { expect, test } from "vitest";
import { ENDPOINTS, LIMITS, pathOf } from "../../src/wire/endpoints.js";

test("the endpoints are those of the interface, each once", () => {
  const lines = Object.values(ENDPOINTS).map(({ method, path }) => `${method} ${path}`);
  expect(new Set(lines).size).toBe(lines.length);
  const further = [
    "GET /v1/klines/intraday/batch",
    "GET /v1/klines",
    "GET /v1/klines/ex-factors",
    "GET /v1/quotes",
    "GET /v1/universes/:id",
  ];
  expect(lines).toEqual(expect.arrayContaining(further));
  expect(lines.filter((line) => !further.includes(line))).toEqual([
    "GET /v1/klines/intraday",
    "GET /v1/klines/intraday/universe",
    "GET /v1/klines/batch",
    "POST /v1/quotes",
    "GET /v1/instruments",
    "POST /v1/instruments",
    "GET /v1/symbols",
    "POST /v1/symbols",
    "GET /v1/universes",
    "POST /v1/universes/batch",
    "GET /v1/exchanges",
    "GET /v1/exchanges/:exchange/instruments",
    "GET /v1/financials/balance-sheet",
    "GET /v1/financials/cash-flow",
    "GET /v1/financials/income",
    "GET /v1/financials/metrics",
    "GET /v1/financials/shares",
  ]);
});

test("the limits are those of the interface", () => {
  expect(LIMITS).toMatchObject({
    defaultCount: 100,
    maxCount: 10_000,
    defaultIntradayCount: 2,
  });
});

test("a path's parameters are filled in and cannot leave their place", () => {
  expect(pathOf(ENDPOINTS.exchangeInstruments, { exchange: "SH" })).toBe("/v1/exchanges/SH/instruments");
  expect(pathOf(ENDPOINTS.exchangeInstruments, { exchange: "../a?b" })).toBe(
    "/v1/exchanges/..%2Fa%3Fb/instruments",
  );
  expect(pathOf(ENDPOINTS.universes)).toBe("/v1/universes");
});
