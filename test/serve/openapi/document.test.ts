import { describe, expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS } from "../../../src/schema/statements.js";
import { DESCRIPTIONS, type OpenApiDocument, openApiDocument } from "../../../src/serve/openapi/document.js";
import { ENDPOINTS, type EndpointName, pathOf } from "../../../src/wire/endpoints.js";
import { errorBody } from "../../../src/wire/error-body.js";
import { hasChromium, narrowPage } from "../../notebook/chromium.js";
import { landedBar, landFinancials, landReference, landRows, listed, serveForFile } from "../served-lake.js";

const SYMBOL = "600000.SH";
const bar = (at: string, more = {}) => landedBar(SYMBOL, at, 1, more);

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1D, [bar("2024-01-01T16:00Z"), bar("2024-01-02T16:00Z", { prev_close: 0.5 })]);
  await landRows(lake, BARS_1M, [bar("2024-01-03T01:31Z")]);
  const known = listed(SYMBOL, { name: "One" });
  await landReference(lake, INSTRUMENTS, [{ ...known, float_shares: 5 }]);
  await landReference(lake, UNIVERSES, [
    { id: "u", name: "U", category: "c", symbol_count: 1, region: "CN" },
  ]);
  await landReference(lake, UNIVERSE_MEMBERS, [{ id: "u", symbol: SYMBOL, region: "CN" }]);
  await landReference(lake, EXCHANGES, [{ exchange: "SH", count: 1, region: "CN" }]);
  const statement = { symbol: SYMBOL, period_end: "2023-12-31", announce_date: "2024-03-01" };
  await landFinancials(lake, BALANCE_SHEET, [{ ...statement, total_assets: 5 }]);
  await landFinancials(lake, CASH_FLOW, [{ ...statement, capex: 5 }]);
  await landFinancials(lake, INCOME, [{ ...statement, revenue: 5 }]);
  await landFinancials(lake, METRICS, [{ ...statement, roe: 0.5 }]);
});

const VALUES: Readonly<Record<string, unknown>> = {
  symbols: SYMBOL,
  symbol: SYMBOL,
  universes: "u",
  ids: "u",
  id: "u",
  exchange: "SH",
  type: "stock",
  count: 1,
  period: "1m",
  adjust: "none",
  start_time: 0,
  end_time: 4_000_000_000_000,
  start_date: "2000-01-01",
  end_date: "2030-01-01",
  latest: true,
};

/** A request with every parameter that the document lists. */
function requestOf(name: EndpointName, document: OpenApiDocument): [path: string, init?: RequestInit] {
  const { method, path } = ENDPOINTS[name];
  const operation = document.paths[path.replaceAll(/:([a-z]+)/g, "{$1}")]?.[method.toLowerCase()];
  const query = (operation?.parameters ?? [])
    .filter((one) => one.in === "query")
    .map((one) => `${one.name}=${String(VALUES[one.name])}`);
  const target = `${pathOf(ENDPOINTS[name], VALUES as Record<string, string>)}?${query.join("&")}`;
  const named =
    String(operation?.requestBody?.content["application/json"].schema.$ref).split("/").at(-1) ?? "";
  const body = document.components.schemas[named]?.properties;
  if (body === undefined) return [target];
  const sent = Object.fromEntries(Object.keys(body).map((field) => [field, [VALUES[field]]]));
  return [target, { method, body: JSON.stringify(sent), headers: { "content-type": "application/json" } }];
}

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

describe("the document", () => {
  test("has every endpoint, each with the parameters that its requests are checked with", () => {
    const { paths } = openApiDocument();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual([...NAMES].sort());
    const batch = paths["/v1/klines/batch"]?.get?.parameters ?? [];
    expect(batch.find(({ name }) => name === "count")?.schema).toEqual({
      type: ["integer", "null"],
      minimum: 0,
      maximum: 10_000,
      default: 100,
    });
    expect(batch.find(({ name }) => name === "symbols")).toMatchObject({
      required: true,
      schema: { type: "string" },
    });
    expect(paths["/v1/universes/{id}"]?.get?.parameters).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "string" } },
    ]);
  });

  test("names every model, and every request body and response", () => {
    const { components, paths } = openApiDocument();
    const names = Object.keys(components.schemas);
    expect(names).toEqual(expect.arrayContaining(["CompactKlines", "Quote", "Instrument", "QuotesRequest"]));
    expect(names).toEqual(
      expect.arrayContaining([
        "BalanceSheetRecord",
        "CashFlowRecord",
        "IncomeRecord",
        "MetricsRecord",
        "SharesRecord",
      ]),
    );
    expect(components.schemas.IncomeRecord?.required).toEqual(["period_end"]);
    const refs = JSON.stringify({ paths, components }).match(/#\/components\/schemas\/\w+/g) ?? [];
    expect(new Set(refs.map((ref) => ref.split("/").at(-1)))).toEqual(new Set(names));
    expect(components.schemas.QuotesResponse?.properties?.data).toEqual({
      type: "array",
      items: { $ref: "#/components/schemas/Quote" },
    });
  });

  test.each(NAMES)("%s: a request made from it is answered in the shape that it documents", async (name) => {
    const { body: document } = await served.ask<OpenApiDocument>("/openapi.json");
    const { status, body } = await served.ask(...requestOf(name, document));
    expect([name, status]).toEqual([name, 200]);
    expect(DESCRIPTIONS[name].response.parse(body)).toEqual(body);
    expect(JSON.stringify(body)).toMatch(/600000|"u"|SH|2023-12-31|ex_factor|\[1\]/);
  });

  test.each(NAMES)("%s: a value that it forbids is refused", async (name) => {
    const { body: document } = await served.ask<OpenApiDocument>("/openapi.json");
    const [path, init] = requestOf(name, document);
    const wrong: [string, RequestInit?][] =
      init === undefined
        ? [
            "period=2d",
            "count=-1",
            "count=x",
            "start_time=x",
            "adjust=up",
            "type=x",
            "latest=maybe",
            "start_date=1",
          ]
            .filter((one) => path.includes(`${one.split("=")[0]}=`))
            .map((one) => [path.replace(new RegExp(`${one.split("=")[0]}=[^&]*`), one)])
        : ["5", "[5]", '{"symbols":5,"ids":5}'].map((body) => [path, { ...init, body }]);
    for (const request of wrong) {
      const { status, body } = await served.ask(...request);
      expect([request, status]).toEqual([request, 400]);
      expect(errorBody.parse(body).code).toMatch(/^INVALID_/);
    }
  });
});

test("the front page says what the service is, and leads to the interface, without a key", async () => {
  const response = await fetch(`${served.service.url}/`);
  expect(response.headers.get("content-security-policy")).toBe(
    "default-src 'none'; style-src 'unsafe-inline'",
  );
  const html = await response.text();
  const links = [...html.matchAll(/href="([^"]*)"/g)].map(([, link]) => link as string);
  expect(links).toEqual(["/docs", "/openapi.json", "/health", "/metrics"]);
  for (const link of links) expect((await fetch(served.service.url + link)).status).toBe(200);
  expect(html).not.toMatch(/<script|src=|https?:/);
});

test("the page shows every endpoint, and loads nothing", async () => {
  const response = await fetch(`${served.service.url}/docs`);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("content-security-policy")).toBe(
    "default-src 'none'; style-src 'unsafe-inline'",
  );
  const html = await response.text();
  for (const { path } of Object.values(ENDPOINTS))
    expect(html).toContain(`<code>${path.replaceAll(/:([a-z]+)/g, "{$1}")}</code>`);
  expect(html).not.toMatch(/<script|src=|https?:/);
});

test.skipIf(!hasChromium())("on a telephone nothing of the page scrolls sideways", async () => {
  const page = await (await fetch(`${served.service.url}/docs`)).text();
  expect(narrowPage(page)).toEqual({ excess: 0, scrolled: [] });
});
