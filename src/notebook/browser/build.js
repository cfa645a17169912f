/*
 * Bundles the browser part of a notebook's page: the style, and one script for each family of charts, so that a page
 * contains only the scripts that it needs. Each script ends with the licences of its packages. It is a part of `npm run
 * build`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { build } from "esbuild";
import { licences, ROOT } from "./licences.js";

const OUT = resolve(ROOT, "dist/notebook");

const { outputFiles, metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ["page.ts", "plots/plots.ts", "candles/candles.ts", "page.css"].map(
    (name) => `src/notebook/browser/${name}`,
  ),
  outdir: OUT,
  entryNames: "[name]",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  write: false,
});
mkdirSync(OUT, { recursive: true });
for (const { path, text } of outputFiles) {
  const inputs = Object.entries(metafile.outputs).find(([name]) => basename(name) === basename(path))?.[1]
    .inputs;
  writeFileSync(path, `${text.trimEnd()}${licences(Object.keys(inputs ?? {}))}\n`);
}
