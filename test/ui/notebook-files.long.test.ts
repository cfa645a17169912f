import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { Lake } from "../../src/lake/lake.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { smallLake } from "../cli/small-lake.js";
import { hasChromium } from "../notebook/chromium.js";
import { openBrowser, openPage } from "./open-browser.js";
import { PATIENT } from "./patient-session.js";

describe.skipIf(!hasChromium())("the list of notebooks in the browser", () => {
  test("a notebook is renamed and deleted by the keyboard, once it is confirmed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "barlake-files-"));
    const fileOf = (name: string): string => join(folder, `${name}.sql`);
    writeFileSync(fileOf("first"), "-- # First\nSELECT 1;\n");
    writeFileSync(fileOf("second"), "-- # Second\nSELECT 2;\n");
    try {
      await using workspace = await startWorkspace(new Lake(await smallLake(join(folder, "lake"))), {
        notebooks: folder,
        limits: PATIENT,
      });
      await using browser = await openBrowser();
      const page = await openPage(browser);
      await page.goto(workspace.address("/notebook"));
      const dialog = page.getByRole("dialog");
      const button = (name: string) => page.getByRole("button", { name, exact: true });
      const said = page.getByRole("status");

      await button("first: Rename").press("Enter");
      await dialog.waitFor();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
      expect(violations.map(({ id }) => id)).toEqual([]);
      await dialog.getByRole("textbox").fill("second");
      await page.keyboard.press("Enter");
      await dialog.getByText("A notebook of this name is there already").waitFor();
      await dialog.getByRole("textbox").fill("third");
      await page.keyboard.press("Enter");
      await said.getByText("first: is now third").waitFor();
      await button("third: Delete").waitFor();
      expect([existsSync(fileOf("first")), existsSync(fileOf("third"))]).toEqual([false, true]);

      await button("second: Delete").press("Enter");
      await dialog.getByText("second.sql").waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      expect(existsSync(fileOf("second"))).toBe(true);
      writeFileSync(fileOf("second"), "theirs");
      await button("second: Delete").click();
      await dialog.getByRole("button", { name: "Delete" }).press("Enter");
      await said.getByText("the file has changed on disk").waitFor();
      expect(readFileSync(fileOf("second"), "utf8")).toBe("theirs");
      // The list was read again.
      await page.locator("li b >> text=second").waitFor();
      await button("second: Delete").click();
      await dialog.getByRole("button", { name: "Delete" }).press("Enter");
      await said.getByText("second: is deleted").waitFor();
      await button("second: Delete").waitFor({ state: "detached" });
      expect(existsSync(fileOf("second"))).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
