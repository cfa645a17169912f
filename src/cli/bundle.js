/*
 * Bundles the command line, with the packages that its commands nearly always need, into a few files: finding and reading
 * hundreds of modules takes longer than a short query. What few commands and statements need (charts, notebooks,
 * workbooks) is in separate files, and packages that load files from their folder are not bundled. Part of
 * `npm run build`.
 *
 * The program of the workspace's processes is bundled, too: cells wait for its start.
 *
 * The package's index is bundled with the commands: a definition of the user's that imports `barlake` gets the modules
 * that run already.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { licences } from "../notebook/browser/licences.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SOURCES = resolve(ROOT, "src");
const BUILT = resolve(ROOT, "dist");
const OUT = resolve(BUILT, "cli/bundled");

/** Packages that are bundled, with the packages that these need. */
const PACKAGES = [
  "@duckdb/node-api",
  "@date-fns/tz",
  "date-fns",
  "zod",
  "sax",
  "croner",
  "undici",
  "aws4fetch",
  "commander",
  "cli-progress",
  "fastify",
  "@modelcontextprotocol/server",
  "string-width",
  "p-map",
  "p-retry",
];
/** What these need, and is not bundled: a binary, and a package that starts threads of its files. */
const SEPARATE = ["@duckdb/node-bindings", "pino"];
/** In the bundle it is the index of the bundle. */
const RUNNING_INDEX = "RUNNING_INDEX = OWN_INDEX";

const isOneOf = (names, path) => names.some((name) => path === name || path.startsWith(`${name}/`));
/** Whether the module that `importer` imports as `path` is bundled. Files of src import only what PACKAGES names; a package brings all that it needs. */
const isBundled = (path, importer) =>
  relative(ROOT, importer).split(sep).includes("node_modules")
    ? !isOneOf(SEPARATE, path) && !isBuiltin(path)
    : isOneOf(PACKAGES, path);

const plugin = {
  name: "barlake",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path, importer }) =>
      isBundled(path, importer) ? undefined : { path, external: true },
    );
    // A module finds files by its own place, which is that of the unbundled file.
    onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
      const built = resolve(BUILT, relative(SOURCES, path)).replace(/\.ts$/, ".js");
      const own = JSON.stringify(relative(OUT, built).replaceAll("\\", "/"));
      const contents = readFileSync(path, "utf8")
        .replaceAll(/createRequire\(import\.meta\.url\)\(("[^"]+")\)/g, (call, name) =>
          isOneOf(PACKAGES, JSON.parse(name)) ? `require(${name})` : call,
        )
        .replaceAll("import.meta.url", `new URL(${own}, import.meta.url).href`)
        // So the bundle gets what is used, without the texts of zod in fifty languages.
        .replace('import { z } from "zod"', 'import * as z from "zod"')
        .replace(RUNNING_INDEX, 'RUNNING_INDEX = new URL("index.js", import.meta.url).href');
      return { contents, loader: "ts", resolveDir: dirname(path) };
    });
  },
};

const { outputFiles, metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ["src/cli/program.ts", "src/index.ts", "src/ui/process/query-process.ts"],
  outdir: OUT,
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  write: false,
  plugins: [plugin],
  banner: {
    js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
  },
});
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const { path, text } of outputFiles) {
  const output = metafile.outputs[relative(ROOT, path)];
  writeFileSync(path, `${text.trimEnd()}${licences(Object.keys(output?.inputs ?? {}))}\n`);
}
