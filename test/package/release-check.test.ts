import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../lake/temporary-lake.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILES = [
  ".ci/release-check.mjs",
  "package.json",
  "package-lock.json",
  "python/pyproject.toml",
  "CHANGELOG.md",
];

/** Runs the check in a copy of what it reads. @returns what it complains of. */
async function check(tag: string, edit: (path: string) => void = () => {}): Promise<string[]> {
  const place = temporaryFolder();
  for (const file of FILES) {
    mkdirSync(join(place, file, ".."), { recursive: true });
    cpSync(join(ROOT, file), join(place, file));
  }
  edit(place);
  const ended = promisify(execFile)(process.execPath, [join(place, ".ci/release-check.mjs"), tag]);
  const stderr = await ended.then(
    () => "",
    (error: { stderr: string }) => error.stderr,
  );
  return stderr.split("\n").filter((line) => line !== "");
}

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

test("a tree is released where tag, package, lock, Python package and changelog have its version, and nothing is unreleased", async () => {
  const released = (place: string): void =>
    writeFileSync(
      join(place, "CHANGELOG.md"),
      `# Changelog\n\n## Unreleased\n\n## ${version} - 2026-01-01\n\n- All.\n`,
    );
  expect(await check(`v${version}`, released)).toEqual([]);
  expect(await check("v99.0.0", released)).toEqual([
    `error: the tag is v99.0.0, and the version of package.json is ${version}`,
  ]);
  for (const file of ["package-lock.json", "python/pyproject.toml"]) {
    const [fault, ...more] = await check(`v${version}`, (place) => {
      released(place);
      const path = join(place, file);
      writeFileSync(path, readFileSync(path, "utf8").replace(version, "98.0.0"));
    });
    expect([fault, more]).toEqual([expect.stringContaining("98.0.0"), []]);
  }
});

test("entries that are not of a version hold a release back, and so does a version without a section", async () => {
  const faults = await check(`v${version}`, (place) =>
    writeFileSync(join(place, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n### Added\n\n- One.\n"),
  );
  expect(faults).toEqual([
    expect.stringContaining(`no section "## ${version}`),
    expect.stringContaining('entries under "Unreleased"'),
  ]);
});
