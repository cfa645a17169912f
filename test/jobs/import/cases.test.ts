import { cpSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { Lake } from "../../../src/lake/lake.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { pickFrom } from "../../sweep.js";
import { parseImport, runCommand } from "./case-commands.js";
import { lakeText } from "./case-rows.js";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "cases");

/** One import of a case: the table, and the arguments after it. */
const command = z.strictObject({ table: z.string(), args: z.array(z.string()) });
/** What a case is: why it is there, where it comes from, and imports into one lake, one after another. */
const definition = z.strictObject({
  why: z.string(),
  imports: z.array(command).min(1),
});

/**
 * Each folder is a case: files as people have them, the commands in `command.json`, and in `expected.txt` what the commands
 * print and what the lake then has. `npx vitest run test/jobs/import/cases.test.ts -u` writes the expected text of new cases:
 * look at it.
 */
const NAMES = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

const all = NAMES.length;

test.each(pickFrom(NAMES, { few: 30, more: all, all }))("%s", async (name) => {
  const place = temporaryFolder();
  const folder = join(place, "files");
  cpSync(join(FOLDER, name), folder, { recursive: true });
  const { imports } = definition.parse(JSON.parse(readFileSync(join(folder, "command.json"), "utf8")));
  const lake = new Lake(join(place, "lake"), { hasDatabase: false });
  const clock = virtualClock("2026-11-21T00:00:00Z");
  const texts: string[] = [];
  for (const [i, { table, args }] of imports.entries()) {
    const { text } = await runCommand({ folder, lake, clock }, parseImport(table, args), `run-${i + 1}`);
    texts.push(`$ barlake import ${[table, ...args].map(shellWord).join(" ")}\n${text}`);
    clock.advance(60_000);
  }
  // Dividends and splits beside bars land, too.
  const tables = imports.flatMap(({ table }) =>
    table === "bars_1d" ? [table, "corporate_actions"] : [table],
  );
  texts.push(await lakeText(lake, [...new Set(tables)], folder));
  await expect(printable(texts.join("\n"))).toMatchFileSnapshot(join(FOLDER, name, "expected.txt"));
});

const shellWord = (word: string): string => (/^[\w./:=,#%+-]+$/.test(word) ? word : `'${word}'`);

/** A text without control characters, so that it is a text file. */
function printable(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
