import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../src/schema/reference.js";
import { BALANCE_SHEET } from "../../src/schema/statements.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { once } from "../once.js";
import { cases } from "../sweep.js";
import { anyAttack, NAMES, nasty } from "./any-attack.js";
import { carryOut } from "./hostile-client.js";
import {
  KEY,
  landedBar,
  landFinancials,
  landReference,
  landRows,
  listed,
  serveForFile,
} from "./served-lake.js";
import { anyStreamAttack, carryOutOnStream } from "./stream/stream-attack.js";

const bar = landedBar("600000.SH", "2024-01-01T16:00:00Z");
const KLINES = "/v1/klines/batch?symbols=600000.SH";

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1D, [bar]);
  await landRows(lake, BARS_1M, [bar]);
  await landReference(lake, INSTRUMENTS, [listed("600000.SH")]);
  await landReference(lake, UNIVERSE_MEMBERS, [{ id: "__proto__", symbol: "600000.SH", region: "CN" }]);
  await landFinancials(lake, BALANCE_SHEET, [{ symbol: "600000.SH", period_end: "2023-12-31", goodwill: 1 }]);
});

describe("hostile inputs are answered with data or a refusal, never with a fault", () => {
  const query = fc.dictionary(fc.constantFrom(...NAMES), nasty);
  const encoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

  once("in queries and paths", async () => {
    const gets = Object.values(ENDPOINTS).filter((endpoint) => endpoint.method === "GET");
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...gets), query, nasty, async (endpoint, parameters, exchange) => {
        const text = Object.entries(parameters).map(([name, value]) => `${name}=${encoded(value)}`);
        const path = endpoint.path.replace(":exchange", encoded(exchange) || "x");
        const { status, body } = await served.ask<object>(`${path}?${text.join("&")}`);
        expect([200, 400, 404]).toContain(status);
        if (status !== 200) expect(Object.keys(body)).toEqual(["code", "message"]);
      }),
      { numRuns: 200 },
    );
  });

  once("in bodies", async () => {
    const posts = Object.values(ENDPOINTS).filter((endpoint) => endpoint.method === "POST");
    const value = fc.oneof(fc.array(nasty, { maxLength: 5 }), nasty, fc.jsonValue());
    const members = fc.dictionary(fc.constantFrom("symbols", "universes", "ids", "x"), value);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...posts),
        fc.oneof(members, fc.jsonValue()),
        async (endpoint, body) => {
          const { status } = await served.post(endpoint.path, body);
          expect([200, 400]).toContain(status);
        },
      ),
      { numRuns: 200 },
    );
  });

  once("in parameters that occur more than once", async () => {
    for (const name of NAMES) {
      const { status } = await served.ask(`${KLINES}&${name}=1&${name}=2`);
      expect([200, 400]).toContain(status);
    }
  });
});

test("hostile clients of the stream get messages or are cut off, and everybody else is answered as before", async () => {
  const target = { host: "127.0.0.1", port: served.service.port, key: KEY };
  const before = await served.ask(KLINES);
  const property = fc.asyncProperty(
    fc.array(anyStreamAttack(KEY), { minLength: 4, maxLength: 12 }),
    async (attacks) => {
      await Promise.all(attacks.map((attack) => carryOutOnStream(attack, target)));
      expect((await served.ask(KLINES)).body).toEqual(before.body);
    },
  );
  await fc.assert(property, {
    seed: 20_261_123,
    numRuns: cases({ few: 3, all: 60 }),
    endOnFailure: true,
  });
});

once("hostile clients get responses or are cut off, and everybody else is answered as before", async () => {
  const target = { host: "127.0.0.1", port: served.service.port, key: KEY };
  const before = await served.ask(KLINES);
  expect(before.status).toBe(200);
  const property = fc.asyncProperty(
    fc.array(anyAttack(KEY), { minLength: 8, maxLength: 24 }),
    async (attacks) => {
      await Promise.all(attacks.map((attack) => carryOut(attack, target)));
      expect((await served.ask(KLINES)).body).toEqual(before.body);
    },
  );
  await fc.assert(property, { seed: 20_261_121, numRuns: 8, endOnFailure: true });
});
