import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const PAGES = readdirSync(new URL("docs", ROOT)).filter((name) => name.endsWith(".md"));
const NOTES = readdirSync(new URL("bench/notes", ROOT));
const TEXTS = [
  "README.md",
  "README.zh.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...PAGES.map((name) => `docs/${name}`),
  ...NOTES.map((name) => `bench/notes/${name}`),
];

const textOf = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): string[] {
  return [...withoutCode(textOf(path)).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, "");
}

/** The targets of a page's links, without those of other sites. */
function linksOf(path: string): string[] {
  return [...withoutCode(textOf(path)).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function isFound(path: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const place = file === "" ? path : posix.join(posix.dirname(path), file);
  if (!existsSync(new URL(place, ROOT))) return false;
  return anchor === undefined || anchorsOf(place).includes(anchor);
}

test("every link of the documentation leads to a file, and to a heading of it", () => {
  expect(TEXTS.flatMap(linksOf).length).toBeGreaterThan(80);
  const broken = TEXTS.flatMap((path) =>
    linksOf(path)
      .filter((target) => !isFound(path, target))
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("the index lists every page", () => {
  const listed = linksOf("docs/README.md");
  expect(PAGES.filter((name) => name !== "README.md" && !listed.includes(name))).toEqual([]);
});

test("every page that the code names is there", () => {
  const names = readdirSync(new URL("src", ROOT), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) => [...textOf(`src/${name}`).matchAll(/\bdocs\/[\w-]+\.md\b/g)].map(([path]) => path));
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
