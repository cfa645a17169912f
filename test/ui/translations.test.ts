import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TABLES } from "../../src/schema/tables.js";

const ROOT = join(import.meta.dirname, "../..");
const OWN = "src/ui/browser/texts.ts";

const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");
/** The comments of tables, as pages show them: without the names of the key's columns. */
const COMMENTS = TABLES.map(({ doc }) => doc.replace(/ Key: .*$/, ""));
/** The texts that are translated, as the source lists them. */
const TRANSLATED = /const TRANSLATED[^]*?\n};/.exec(textOf(OWN))?.[0] ?? "";
const LISTED = [...TRANSLATED.matchAll(/^ {2}(?:"((?:[^"\\]|\\.)*)"|(\w+)):/gm)].map(
  ([, sentence, word]) => sentence ?? (word as string),
);

/** The paths of the sources in some folders. */
function sources(...folders: string[]): string[] {
  const all = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  return all.filter((path) => /\.tsx?$/.test(path) && path !== OWN);
}

test("the comment of every table and the description of every pipeline are translated", () => {
  const described = sources("pipelines").flatMap(
    (path) => /definePipeline[^]*doc:\s*"([^"]+)"/.exec(textOf(path))?.[1] ?? [],
  );
  expect(described.length).toBeGreaterThan(4);
  expect([...COMMENTS, ...described].filter((text) => !LISTED.includes(text))).toEqual([]);
});

test("every text that is translated is still a text of the program", () => {
  expect(LISTED.length).toBeGreaterThan(30);
  const all = [...COMMENTS, ...sources("src", "pipelines").map(textOf)].join("\n");
  // The last part of a hint may be added to it where it is shown.
  const gone = LISTED.filter((text) => text.split("; ").some((part) => !all.includes(part)));
  expect(gone).toEqual([]);
});
