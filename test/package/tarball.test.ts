import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(join(PROJECT, file), "utf8");

/** What `npm pack` would put into the package, of what is built. */
const FILES: readonly string[] = (
  JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: PROJECT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  ) as [{ files: { path: string }[] }]
)[0].files.map(({ path }) => path);

test("has what it needs, and nothing of the work on it", () => {
  const kinds = new Set(FILES.map((file) => file.replace(/\/.*$/, "")));
  expect([...kinds].sort()).toEqual(
    [
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "README.zh.md",
      "dist",
      "docs",
      "examples",
      "llms.txt",
      "package.json",
      "pipelines",
      "python",
      "sql",
    ].sort(),
  );
  expect(FILES.filter((file) => /\.map$|tsbuildinfo|\.test\.|^docs\/[^/]*\.ts$/.test(file))).toEqual([]);
  expect(FILES.filter((file) => file.startsWith("dist/json-schema/")).length).toBe(2);
});

test("no file names a source map that is not there", () => {
  // A folder that was built before may have files of sources that are gone: `npm pack` builds again.
  const built = FILES.filter((file) =>
    existsSync(join(PROJECT, file.replace(/^dist(.*)\.js$/, "src$1.ts"))),
  ).filter((file) => file.endsWith(".js"));
  expect(built.length).toBeGreaterThan(500);
  expect(built.filter((file) => /^\/\/# sourceMappingURL=/m.test(read(file)))).toEqual([]);
});

test("has the documents that its messages name, and those that its documents link to", () => {
  // Packages in the bundle name pages of their own, by whole addresses.
  const named = FILES.filter((file) => /^dist\/.*\.js$/.test(file)).flatMap((file) =>
    [...read(file).matchAll(/(?<![\w/])docs\/[\w-]+\.md\b/g)].map(([path]) => path),
  );
  expect(new Set(named).size).toBeGreaterThan(5);
  expect(named.filter((path) => !FILES.includes(path))).toEqual([]);
  const folders = new Set(FILES.flatMap((file) => parents(file)));
  for (const file of FILES.filter((one) => one.endsWith(".md")))
    for (const [, link = ""] of read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      const target = posix.join(dirname(file), link).replace(/\/$/, "");
      // How to work on barlake, and the notes of its benchmarks, are for those who have its sources.
      if (target === "CONTRIBUTING.md" || target.startsWith("bench/notes/"))
        expect(existsSync(join(PROJECT, target))).toBe(true);
      else expect(FILES.includes(target) || folders.has(target), `${file}: ${link}`).toBe(true);
    }
});

function parents(file: string): string[] {
  const folder = dirname(file);
  return folder === "." ? [] : [folder, ...parents(folder)];
}

test("has the text of the licence of each package in its bundles", () => {
  const notices = FILES.filter((file) => /^dist\/.*\.js$/.test(file)).flatMap((file) =>
    [...read(file).matchAll(/\n\/\*! (.+)\n\n([\s\S]*?)\n\*\//g)].map(([, names = "", text = ""]) => ({
      names,
      text,
    })),
  );
  expect(notices.length).toBeGreaterThan(20);
  const named = notices
    .filter(({ text }) => text.length < 500)
    .map(({ names }) => names.replace(/ \S+$/, ""));
  // Two have no text of a licence in their packages, the others have that of barlake: LICENSE.
  expect([...new Set(named)].sort()).toEqual([
    "@modelcontextprotocol/server 2.4.0, @modelcontextprotocol/core",
    "abstract-logging",
    "fancy-canvas",
    "lightweight-charts",
  ]);
});

test("package.json says where it comes from, and what it is about", () => {
  const { repository, homepage, bugs, keywords, license, engines } = JSON.parse(read("package.json")) as {
    repository: { url: string };
    homepage: string;
    bugs: string;
    keywords: string[];
    license: string;
    engines: { node: string };
  };
  const address = repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
  expect(homepage.startsWith(address)).toBe(true);
  expect(bugs.startsWith(address)).toBe(true);
  expect(keywords).toContain("market-data");
  expect([license, engines.node]).toEqual(["Apache-2.0", ">=20.19"]);
});

test("the changelog has the version of the package", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(read("CHANGELOG.md")).toContain(`\n## ${version}`);
});
