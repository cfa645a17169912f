import { writeFileSync } from "node:fs";

import { join } from "node:path";
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";

import { hasChromium } from "../notebook/chromium.js";

import { openWatched, workspaceForFile } from "./watched-page.js";

describe.skipIf(!hasChromium())("a notebook of a stranger in a browser", () => {
  const visit = workspaceForFile((folder) => ({ notebooks: folder }));

  /** Opens a notebook of these cells, and waits until all of them ran. */
  async function ran(
    name: string,
    cells: readonly string[],
    see: (cell: (n: number) => Locator) => Promise<void>,
  ) {
    writeFileSync(join(visit.folder, `${name}.sql`), cells.map((cell) => `-- %%\n${cell}\n`).join(""));
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    await page.goto(visit.workspace.address(`/notebook/${name}`));
    await page.locator("[role=status] >> text=/^ran: /").waitFor();
    await see((n) => page.getByRole("group", { name: `Cell ${n}`, exact: true }));
    expect(faults).toEqual([]);
  }

  test("the plan of a pivot is shown, as that of any query", async () => {
    const pivot = "PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v)";
    await ran("plan", [`EXPLAIN ${pivot};`, `${pivot};`], async (cell) => {
      expect(await cell(1).locator("td").allTextContents()).toContain("physical_plan");
      expect(await cell(2).locator("td").allTextContents()).toEqual(["1"]);
    });
  });

  test("scripts in prose, names and values are text", async () => {
    const script = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";
    const quoted = script.replaceAll("'", "''");
    const cells = [
      `-- ${script}\n-- [click](javascript:alert(1))\nSELECT 1 AS one;`,
      `SELECT '${quoted}' AS "${script.replaceAll('"', '""')}";`,
    ];
    await ran("scripts", cells, async (cell) => {
      const page = cell(1).page();
      expect(await page.locator("main img, main script, main a[href^=javascript]").count()).toBe(0);
      expect(await cell(2).locator("td").textContent()).toBe(script);
      expect(await page.title()).not.toContain("owned");
    });
  });
});
