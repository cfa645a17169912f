import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { startService } from "../../../src/serve/http/service.js";
import { plainKeys } from "../../../src/serve/keys/key-ring.js";
import type { Klines } from "../reference-klines.js";
import { KEY, landedBar, landReference, landRows, listed, NOW, serveForTest } from "../served-lake.js";

type Body = { data: Readonly<Record<string, Klines>> };

test("only the files that a request needs are opened", async () => {
  const { ask, lake } = await serveForTest(async (own) => {
    const known = listed("600000.SH");
    await landReference(own, INSTRUMENTS, [known]);
    const years = [2020, 2021, 2022, 2023, 2024];
    await landRows(
      own,
      BARS_1D,
      years.flatMap((year) => [
        landedBar("600000.SH", `${year}-06-03T00:00:00+08:00`, year),
        landedBar("AAPL.US", `${year}-06-03T00:00:00-04:00`, year),
      ]),
    );
    await landRows(own, BARS_1D, [landedBar("000001.SZ", "2024-06-03T00:00:00+08:00")]);
    const months = ["01", "02", "03"];
    await landRows(
      own,
      BARS_1M,
      months.map((month) => landedBar("600000.SH", `2024-${month}-15T10:00:00+08:00`)),
    );
  });
  const forget = (path: string): void => rmSync(join(lake.location, path), { recursive: true });
  for (const year of [2020, 2022]) forget(`bars_1d/region=CN/year=${year}`);
  forget("bars_1d/region=US");
  forget("bars_1m/region=CN/month=2024-01-01");
  const close = async (query: string) => {
    const { status, body } = await ask<Body>(`/v1/klines/batch?symbols=600000.SH&adjust=none&${query}`);
    return status === 200 ? body.data["600000.SH"]?.close : status;
  };
  const window = (from: string, to: string): string =>
    `start_time=${Date.parse(`${from}T00:00:00+08:00`)}&end_time=${Date.parse(`${to}T00:00:00+08:00`)}`;
  expect(await close("count=1")).toEqual([2024]);
  expect(await close(window("2023-01-01", "2024-12-31"))).toEqual([2023, 2024]);
  expect(await close(window("2021-01-01", "2021-12-31"))).toEqual([2021]);
  expect(await close(`${window("2019-01-01", "2021-12-31")}&count=1`)).toEqual([2021]);
  expect(await close(window("2022-06-04", "2022-12-31"))).toEqual([]);
  expect(await close(window("2022-06-03", "2022-12-31"))).toBe(500);
  expect(await close(`period=1m&count=1`)).toEqual([1]);
  expect(await close(`period=1m&${window("2024-02-01", "2024-03-31")}`)).toEqual([1, 1]);
});

test("a request reads one version of a table, also where others are committed at the same time", async () => {
  const { ask, lake } = await serveForTest((own) =>
    landRows(own, BARS_1D, [landedBar("600000.SH", "2024-01-02T00:00:00+08:00", 1)]),
  );
  const seen = async (): Promise<readonly number[]> => {
    const { status, body } = await ask<Body>("/v1/klines/batch?symbols=600000.SH&adjust=none");
    expect(status).toBe(200);
    return [...new Set(body.data["600000.SH"]?.close)];
  };
  expect(await seen()).toEqual([1]);
  for (let close = 2; close <= 8; close++) {
    const days = ["2024-01-02", "2024-01-03", "2025-01-02"].map((day) =>
      landedBar("600000.SH", `${day}T00:00:00+08:00`, close),
    );
    const writer = { isDone: false };
    const writing = landRows(lake, BARS_1D, days).finally(() => {
      writer.isDone = true;
    });
    while (!writer.isDone) expect(await seen()).toBeOneOf([[close - 1], [close]]);
    await writing;
    expect(await seen()).toEqual([close]);
  }
});

test("a service of a past version keeps serving it; with a version that never existed it does not start", async () => {
  const day = "2024-01-02T00:00:00+08:00";
  const { lake } = await serveForTest((own) => landRows(own, BARS_1D, [landedBar("600000.SH", day, 1)]));
  await landRows(lake, BARS_1D, [landedBar("600000.SH", day, 2)]);
  const start = (version: number) =>
    startService(lake, {
      port: 0,
      keys: plainKeys([KEY]),
      clock: { now: () => NOW },
      pointInTime: { versions: new Map([["bars_1d", version]]) },
    });
  const service = await start(0);
  onTestFinished(() => service.close());
  const close = async (): Promise<unknown> => {
    const url = `${service.url}/v1/klines/batch?symbols=600000.SH&adjust=none`;
    const response = await fetch(url, { headers: { "x-api-key": KEY } });
    return ((await response.json()) as Body).data["600000.SH"]?.close;
  };
  expect(await close()).toEqual([1]);
  await landRows(lake, BARS_1D, [landedBar("600000.SH", day, 3)]);
  expect(await close()).toEqual([1]);
  await expect(start(9)).rejects.toThrow("table bars_1d: version 9 does not exist");
});
