import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** What the build writes last of the modules. */
const LAST_BUILT = `${ROOT}dist/cli/bundled/index.js`;
/** Modules for browsers and for WebAssembly, which the build does not write one by one. */
const NOT_BUILT = ["ui/browser/", "notebook/browser/", "wire/kernel/assembly/"];

/**
 * Where tests find the modules that they import from `src`, and the package `barlake`: in `dist` where the build is newer
 * than every file of `src`, otherwise in `src`. Node loads the built modules itself, which saves a twelfth of the
 * processor time of `npm test`: vitest rewrites each module that it loads, and each import becomes a lookup.
 */
export function testedModules(): { find: RegExp; replacement: string }[] {
  if (!isBuilt()) return [{ find: /^barlake$/, replacement: `${ROOT}src/index.ts` }];
  return [
    { find: /^barlake$/, replacement: `${ROOT}dist/index.js` },
    {
      find: new RegExp(`^(?:\\.\\./)+src/(?!${NOT_BUILT.join("|")})(.*\\.js)$`),
      replacement: `${ROOT}dist/$1`,
    },
  ];
}

/** Whether `dist` is newer than every file of `src`. */
function isBuilt(): boolean {
  // Coverage is that of the sources.
  if (process.argv.some((argument) => argument.startsWith("--coverage"))) return false;
  const built = statSync(LAST_BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return readdirSync(`${ROOT}src`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .every((entry) => statSync(`${entry.parentPath}/${entry.name}`).mtimeMs < built);
}
