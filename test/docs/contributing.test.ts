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
  const paths = pathsIn("Four journeys");
  expect(paths.length).toBeGreaterThan(40);
  expect(
    paths.filter((path) => !existsSync(new URL(`src/${path}.ts`, ROOT)) && !existsSync(new URL(path, ROOT))),
  ).toEqual([]);
});

test("every folder of the table is there", () => {
  const paths = [...TEXT.matchAll(/^\| `((?:src|sql|test)\/[\w/-]+)` \|/gm)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
