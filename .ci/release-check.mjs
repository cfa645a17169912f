// Whether the work tree can be released as a version: run by the workflow of a release, with its tag.
//   node .ci/release-check.mjs v0.2.0
import { readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const [tag = ""] = process.argv.slice(2);
const { version } = JSON.parse(read("package.json"));
const lock = JSON.parse(read("package-lock.json"));
const python = /^version = "(.*)"$/m.exec(read("python/pyproject.toml"))?.[1];
const changelog = read("CHANGELOG.md");
const unreleased = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog)?.[1] ?? "";
const faults = [
  [tag !== `v${version}`, `the tag is ${tag || "missing"}, and the version of package.json is ${version}`],
  [lock.version !== version, `package-lock.json has version ${lock.version}: run npm install`],
  [python !== version, `python/pyproject.toml has version ${python}, package.json ${version}`],
  [
    !new RegExp(`^## ${version.replaceAll(".", "\\.")} - \\d{4}-\\d{2}-\\d{2}$`, "m").test(changelog),
    `CHANGELOG.md has no section "## ${version} - YYYY-MM-DD"`,
  ],
  [unreleased.trim() !== "", `CHANGELOG.md has entries under "Unreleased": move them below ${version}`],
].flatMap(([isWrong, text]) => (isWrong ? [text] : []));
for (const fault of faults) process.stderr.write(`error: ${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
