// Builds what a clone needs, unless it has just been built: npm runs `prepare` for `npm ci`, and npx runs it once more
// when it first starts the command of a clone, in silence.
import { execSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const BUILT_FROM = [
  "src",
  "sql",
  "pipelines",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

/** What the build itself makes below src. */
const MADE = "src/wire/kernel/kernel-binary.ts";

/** When a file, or the newest one below a folder, was last changed. */
function changedAt(path) {
  const facts = statSync(new URL(path, root), { throwIfNoEntry: false });
  if (facts === undefined || path === MADE) return 0;
  if (!facts.isDirectory()) return facts.mtimeMs;
  return Math.max(0, ...readdirSync(new URL(path, root)).map((name) => changedAt(`${path}/${name}`)));
}

const builtAt = changedAt("dist/.built");
if (builtAt === 0 || Math.max(...BUILT_FROM.map(changedAt)) > builtAt)
  execSync("npm run build", { cwd: root, stdio: "inherit" });
