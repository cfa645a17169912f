import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BARS_1D } from "../../../src/schema/bars.js";
import type { Klines } from "../reference-klines.js";
import { type LandedBar, landRows, newLake, type Served, serve } from "../served-lake.js";

/** Real daily bars of 2024 with a vendor's adjusted closes in addition: see the folder's SOURCES.md. */
const FOLDER = join(resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata"), "bars_1d_adj2024");
const present = existsSync(FOLDER);
if (!present) console.warn(`skipped: no real data at ${FOLDER}; set BARLAKE_REALDATA to the folder above it`);

interface VendorDay extends LandedBar {
  /** Forward- and backward-adjusted close, as the vendor computes them. */
  readonly closeQfq: number;
  readonly closeHfq: number;
}

function readVendor(file: string): VendorDay[] {
  const [header = "", ...lines] = gunzipSync(readFileSync(join(FOLDER, file)))
    .toString()
    .trim()
    .split("\n");
  const names = header.trim().split(",");
  return lines.map((line) => {
    const cells = line.trim().split(",");
    const cell = (name: string): number => Number(cells[names.indexOf(name)]);
    return {
      symbol: file.replace(".csv.gz", ""),
      timestamp: cell("timestamp_ms"),
      open: cell("open"),
      high: cell("high"),
      low: cell("low"),
      close: cell("close"),
      volume: cell("volume"),
      amount: cell("amount"),
      prev_close: cell("prev_close"),
      lot: 1,
      closeQfq: cell("close_qfq"),
      closeHfq: cell("close_hfq"),
    };
  });
}

describe.skipIf(!present)("adjusted closes of real bars", () => {
  const { lake, remove } = newLake();
  let served: Served;
  const vendor = new Map<string, VendorDay[]>();
  beforeAll(async () => {
    for (const file of readdirSync(FOLDER).sort()) vendor.set(file.replace(".csv.gz", ""), readVendor(file));
    await landRows(lake, BARS_1D, [...vendor.values()].flat());
    served = await serve(lake);
  });
  afterAll(async () => {
    await served.service.close();
    remove();
  });

  async function closes(adjust: string): Promise<Readonly<Record<string, Klines>>> {
    const path = `/v1/klines/batch?symbols=${[...vendor.keys()].join()}&count=10000&adjust=${adjust}`;
    return (await served.ask<{ data: Readonly<Record<string, Klines>> }>(path)).body.data;
  }

  test.each([
    ["backward", "closeHfq"],
    ["forward", "closeQfq"],
  ] as const)("move from day to day as the vendor's: %s", async (adjust, column) => {
    const data = await closes(adjust);
    let events = 0;
    for (const [symbol, days] of vendor) {
      const ours = data[symbol]?.close ?? [];
      expect(ours).toHaveLength(days.length);
      for (let i = 1; i < days.length; i++) {
        const [before, day] = [days[i - 1] as VendorDay, days[i] as VendorDay];
        if (day.prev_close !== before.close) events += 1;
        const ratio = (ours[i] as number) / (ours[i - 1] as number);
        expect(Math.abs(ratio / (day[column] / before[column]) - 1)).toBeLessThan(1e-3);
      }
    }
    expect(events).toBeGreaterThan(10);
  });

  test("are the raw doubles where none is asked for", async () => {
    const data = await closes("none");
    for (const [symbol, days] of vendor) expect(data[symbol]?.close).toEqual(days.map((day) => day.close));
  });

  test("end at the raw close forward, and begin with it backward", async () => {
    const [forward, backward] = [await closes("forward"), await closes("backward")];
    for (const [symbol, days] of vendor) {
      expect(forward[symbol]?.close.at(-1)).toBe(days.at(-1)?.close);
      expect(backward[symbol]?.close[0]).toBe(days[0]?.close);
    }
  });
});
