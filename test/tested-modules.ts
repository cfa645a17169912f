import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** As old as the begin of the last build that succeeded. */
const BUILT = `${ROOT}dist/.built`;
/** The file of `src` that the build writes. */
const MADE_BY_BUILD = "kernel-binary.ts";
/** The paths of built modules. */
export const BUILT_MODULES = new RegExp(`^${`${ROOT}dist/`.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}`);
/** Modules for browsers and for WebAssembly, which the build does not write one by one. */
const NOT_BUILT = ["ui/browser/", "notebook/browser/", "wire/kernel/assembly/"];

/**
 * Where tests find the modules that they import from `src`, and the package `barlake`: in `dist` where the build is newer
 * than every file of `src`, otherwise in `src`. Node loads the built modules itself. Vitest rewrites each module that it
 * loads, and each use of an import becomes a lookup: 349 tests of landing, service and decoder took 72 seconds of processor
 * time with the sources, and 62 with the built modules.
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
  const built = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return readdirSync(`${ROOT}src`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== MADE_BY_BUILD)
    .every((entry) => statSync(`${entry.parentPath}/${entry.name}`).mtimeMs < built);
}
