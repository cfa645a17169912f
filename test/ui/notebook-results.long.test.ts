import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { hasChromium } from "../notebook/chromium.js";
import { HANG_MS, openPage } from "./open-browser.js";
import { openWatched, seriousAgainst, type WatchedPage, workspaceForFile } from "./watched-page.js";

const WAIT = { timeout: HANG_MS };
const DAYS = `SELECT DATE '2026-01-01' + i::INT AS day, 10 + i % 7 AS low, 30 - i % 5 AS high, 15 + i % 3 AS open,
  16 + i % 4 AS close, 100 * i AS volume FROM range(60) t(i)`;
const TEXT = `-- # Results
-- %% table title="Squares"
SELECT i, (i - 40) ** 2 AS distance, CASE WHEN i % 3 > 0 THEN 'name ' || i END AS name FROM range(5000) t(i);
-- %% chart line x=i y=value color=series title="Lines & <curves>" percent=value
SELECT i, i * s / 100 AS value, 'series <' || s || '>' AS series FROM range(20) t(i), range(1, 3) u(s);
-- %% chart heatmap x=x y=y color=heat title="Heat"
SELECT i % 5 AS x, i // 5 AS y, i - 12 AS heat FROM range(25) t(i);
-- %% chart candlestick x=day open=open high=high low=low close=close volume=volume title="Candles"
${DAYS};
`;

describe.skipIf(!hasChromium())("the results of a notebook in the browser", () => {
  const visit = workspaceForFile((folder) => ({ notebooks: folder }));
  let page: Page;
  let watched: WatchedPage;

  beforeEach(async () => {
    writeFileSync(join(visit.folder, "results.sql"), TEXT);
    watched = await openWatched(visit.browser);
    ({ page } = watched);
    await page.goto(visit.workspace.address("/notebook/results"));
    await page.waitForSelector("text=ran: 5 cells");
  });
  afterEach(async () => {
    await watched[Symbol.asyncDispose]();
    if (watched.faults.length > 0) throw new Error(watched.faults.join("\n"));
  });

  const cell = (number: number): Locator => page.getByRole("group", { name: `Cell ${number}`, exact: true });
  /** The texts of the row at a position of the result, from 0; undefined while it is not in view. */
  const rowAt = async (at: number): Promise<string[] | undefined> => {
    const row = cell(2).locator(`tr[aria-rowindex="${at + 2}"] td`);
    return (await row.count()) === 0 ? undefined : row.allInnerTexts();
  };
  const rows = (): Locator => cell(2).locator(".exports [role=status]");

  test("a head orders all rows, up, down and as they were, and the order is that of rows far below", async () => {
    const head = cell(2).locator("th", { hasText: "distance" });
    const order = (): Promise<string | null> => head.getAttribute("aria-sort");
    await head.getByRole("button").click();
    await expect.poll(() => rowAt(0), WAIT).toEqual(["40", "0", "name 40"]);
    // Rows with the same value remain in the statement's order.
    expect([await rowAt(1), await rowAt(2)]).toEqual([
      ["39", "1", "·"],
      ["41", "1", "name 41"],
    ]);
    expect(await order()).toBe("ascending");
    await cell(2).locator(".table").press("End");
    await expect.poll(() => rowAt(4999), WAIT).toEqual(["4999", "24,591,681", "name 4999"]);
    await head.getByRole("button").click();
    await expect.poll(() => rowAt(0), WAIT).toEqual(["4999", "24,591,681", "name 4999"]);
    expect(await order()).toBe("descending");
    // Nulls are last, whichever way it is.
    const name = cell(2).locator("th", { hasText: "name" });
    for (const direction of ["ascending", "descending"]) {
      await name.getByRole("button").click();
      await expect.poll(() => name.getAttribute("aria-sort"), WAIT).toBe(direction);
      await cell(2).locator(".table").press("End");
      await expect.poll(async () => (await rowAt(4999))?.[2], WAIT).toBe("·");
    }
    await name.getByRole("button").click();
    await expect.poll(() => rowAt(0), WAIT).toEqual(["0", "1,600", "·"]);
    expect(await name.getAttribute("aria-sort")).toBeNull();
  });

  test("a text leaves the rows of the whole result that contain it, in the chosen order", async () => {
    const filter = cell(2).getByRole("searchbox");
    expect(await rows().innerText()).toBe("5,000 rows");
    await filter.fill("NAME 49");
    await expect.poll(() => rows().innerText(), WAIT).toBe("75 rows");
    expect(await rowAt(0)).toEqual(["49", "81", "name 49"]);
    const head = cell(2).locator("th", { hasText: "distance" }).getByRole("button");
    await head.click();
    await head.click();
    await expect.poll(() => rowAt(0), WAIT).toEqual(["4999", "24,591,681", "name 4999"]);
    expect(await rows().innerText()).toBe("75 rows");
    await filter.fill("no such text");
    await expect.poll(() => rows().innerText(), WAIT).toBe("0 rows");
    await filter.fill("");
    await expect.poll(() => rows().innerText(), WAIT).toBe("5,000 rows");
  });

  /** Saves the picture of a cell's chart. */
  async function pictureOf(number: number): Promise<{ readonly name: string; readonly bytes: Buffer }> {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      cell(number).getByRole("button", { name: "Picture" }).click(),
    ]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  }

  /** What a page of its own, without any network, shows of an image: its size, and how many colours parts of it have. */
  async function shown(bytes: Buffer, type: string): Promise<{ width: number; colours: number[] }> {
    const other = await openPage(visit.browser, { offline: true });
    const address = `data:${type};base64,${bytes.toString("base64")}`;
    const found = await other.evaluate<{ width: number; colours: number[] }>(`(async () => {
      const image = new Image();
      image.src = ${JSON.stringify(address)};
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
      const pen = canvas.getContext("2d");
      pen.drawImage(image, 0, 0);
      const coloursOf = (top, height) =>
        new Set(new Uint32Array(pen.getImageData(0, top, image.width, height).data.buffer)).size;
      return { width: image.width, colours: [coloursOf(0, 32), coloursOf(32, image.height - 32)] };
    })()`);
    await other.context().close();
    return found;
  }

  test("a chart is saved as SVG with its title and legend, and refers to nothing outside of it", async () => {
    for (const [number, title, legend] of [
      [3, "Lines & <curves>", "series <2>"],
      [4, "Heat", "heat"],
    ] as const) {
      await cell(number).locator("figure svg").first().waitFor();
      const { name, bytes } = await pictureOf(number);
      expect(name).toMatch(/^(Lines|Heat).*\.svg$/);
      const text = bytes.toString("utf8");
      expect(text).not.toMatch(/(href|src)="(?!#|data:)|url\((?!["']?#)|@import|var\(|<script/);
      const parsed = await page.evaluate<{ title?: string; faults: number; texts: string[] }>(`(() => {
        const parsed = new DOMParser().parseFromString(${JSON.stringify(text)}, "image/svg+xml");
        const texts = [...parsed.querySelectorAll("text")].map((one) => one.textContent);
        return {
          title: parsed.querySelector("svg > title")?.textContent,
          faults: parsed.querySelectorAll("parsererror").length, texts };
      })()`);
      expect(parsed).toMatchObject({ title, faults: 0 });
      expect(parsed.texts).toEqual(expect.arrayContaining([title, legend]));
      const { width, colours } = await shown(bytes, "image/svg+xml");
      expect(width).toBe(
        Math.round((await cell(number).locator("figure").first().boundingBox())?.width ?? 0),
      );
      // The letters of the title, and the drawing.
      expect(Math.min(...colours)).toBeGreaterThan(2);
    }
  });

  test("candles are saved as PNG with their title, in the colours of the page", async () => {
    await page.emulateMedia({ colorScheme: "dark" });
    await cell(5).locator("figure canvas").first().waitFor();
    const { name, bytes } = await pictureOf(5);
    expect(name).toBe("Candles.png");
    expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    const { width, colours } = await shown(bytes, "image/png");
    expect(width).toBe(Math.ceil((await cell(5).locator("figure").first().boundingBox())?.width ?? 0));
    expect(Math.min(...colours)).toBeGreaterThan(2);
  });

  test("tables and views are found, described and queried in a new cell", async () => {
    await page.locator(".schema > summary").click();
    const sought = page.getByRole("searchbox", { name: "Find a table, view or column" });
    const found = page.locator(".schema > ul > li");
    await found.first().waitFor();
    const all = await found.count();
    // By a column, by a part of what it means, and by its name, which comes first.
    await sought.fill("open_interest");
    await found.locator("summary", { hasText: "bars_1d" }).first().waitFor();
    expect(await found.count()).toBeLessThan(all);
    await sought.fill("Daily bars as delivered");
    await expect
      .poll(() => found.locator("summary code").allInnerTexts(), WAIT)
      .toEqual(["bars_1d", "raw.bars_1d"]);
    await sought.fill("nothing of the kind");
    await page.getByText("No table, view or column has it").waitFor();
    await sought.fill("bars_1d");
    await expect.poll(() => found.locator("summary code").first().innerText(), WAIT).toBe("bars_1d");
    await found.first().locator("summary").first().click();
    const close = found.first().locator("tr", { has: page.getByText("close", { exact: true }) });
    // The columns come with the opening of a relation, after the click.
    await close.waitFor();
    expect((await close.locator("td").allInnerTexts()).slice(0, 3)).toEqual(["close", "DOUBLE", "currency"]);
    const firstRows = found.first().locator("section table tbody tr");
    await expect.poll(() => firstRows.count(), WAIT).toBe(5);
    await page.setViewportSize({ width: 390, height: 900 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(await seriousAgainst(page)).toEqual([]);
    await page.setViewportSize({ width: 1400, height: 900 });
    await found.first().getByRole("button", { name: "Query this" }).click();
    await expect.poll(() => cell(6).locator(".exports [role=status]").innerText(), WAIT).toBe("100 rows");
    expect(await cell(6).locator(".cm-content").innerText()).toContain("FROM bars_1d LIMIT 100;");
    // What made it is not saved on its own.
    expect(readFileSync(join(visit.folder, "results.sql"), "utf8")).toBe(TEXT);
  });
});
