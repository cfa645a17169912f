import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const TEXT = readFileSync(new URL("CONTRIBUTING.md", ROOT), "utf8");

/** The names in backquotes of a section that have a slash. */
function pathsIn(section: string): string[] {
  const [, text = ""] = TEXT.split(`\n## ${section}\n`);
  const [own = ""] = text.split("\n## ");
  return [...own.matchAll(/`([\w-]+(?:\/[\w.-]+)+)`/g)].map(([, path = ""]) => path);
}

test("every file of the journeys is there", () => {
  const paths = pathsIn("Six journeys");
  expect(paths.length).toBeGreaterThan(40);
  expect(
    paths.filter((path) => !existsSync(new URL(`src/${path}.ts`, ROOT)) && !existsSync(new URL(path, ROOT))),
  ).toEqual([]);
});

/** Most files that a reader of a journey opens. */
const MOST: readonly (readonly [begin: string, files: number])[] = [
  ["From HTTP to Parquet", 20],
  ["A bar that breaks a rule", 12],
  ["A 429 with a wait", 8],
  ["From a request to bytes", 20],
  ["From `lake.read` to bars", 12],
  ["From a question to rows", 15],
];

test.each(MOST)("%s opens at most %i files", (begin, most) => {
  const [, text = ""] = TEXT.split(`**${begin}**`);
  const [own = ""] = text.split("\n\n");
  const files = new Set([...own.matchAll(/`([\w-]+(?:\/[\w.-]+)+)`/g)].map(([, path]) => path));
  expect(files.size).toBeGreaterThan(4);
  expect(files.size).toBeLessThanOrEqual(most);
});

test("every folder of the table is there", () => {
  const paths = [...TEXT.matchAll(/^\| `((?:src|sql|test)\/[\w/-]+)` \|/gm)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
