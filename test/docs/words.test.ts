import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);

/** Words that a reader of technical English would have to look up, and the usual ones. */
const USUAL: Readonly<Record<string, string>> = {
  "told|tells": "reports, says, names",
  "whoever|whosoever": "who, any process that",
  anew: "again",
  meanwhile: "at the same time",
  "hence|thereof|therein|hereby": "so, of it, in it",
  "under way": "in flight, running",
  rooms: "budgets, permits",
  "laid|lays": "created, creates",
  farewell: "connection draining",
  "whatever|whichever": "any, everything that",
  "stands|stood|stand (?:for|in|at|beside)": "is, has, means",
  beside: "next to, in addition to, at the same time as",
};

function textsIn(folder: string, form: RegExp): string[] {
  return readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" })
    .filter((name) => form.test(name))
    .map((name) => `${folder}/${name}`);
}

test("code, SQL, tests and documentation use the usual words", () => {
  const paths = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    ...textsIn("src", /\.tsx?$/),
    ...textsIn("sql", /\.sql$/),
    ...textsIn("docs", /\.md$/),
    ...textsIn("test", /(?<!words\.test)\.ts$/),
  ];
  expect(paths.length).toBeGreaterThan(800);
  const pattern = new RegExp(`\\b(?:${Object.keys(USUAL).join("|")})\\b`, "gi");
  const found = paths.flatMap((path) =>
    (readFileSync(new URL(path, ROOT), "utf8").match(pattern) ?? []).map((word) => {
      const usual = Object.entries(USUAL).find(([words]) => new RegExp(`^(?:${words})$`, "i").test(word));
      return `${path}: "${word}": ${usual?.[1]}`;
    }),
  );
  expect(found).toEqual([]);
});
