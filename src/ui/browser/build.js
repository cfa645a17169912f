/*
 * Bundles the workspace's page: one script for the frame, and one for each family of charts, which is loaded with the
 * view that draws them. Each script ends with the licences of its packages. It is a part of `npm run build`.
 */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { build } from "esbuild";
import { licences, ROOT } from "../../notebook/browser/licences.js";

const OUT = resolve(ROOT, "dist/ui/page");
const { outputFiles, metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ["src/ui/browser/app.tsx", "src/ui/browser/app.css"],
  outdir: OUT,
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  write: false,
});
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const { path, text } of outputFiles) {
  const [, output] =
    Object.entries(metafile.outputs).find(([name]) => basename(name) === basename(path)) ?? [];
  writeFileSync(path, `${text.trimEnd()}${licences(Object.keys(output?.inputs ?? {}))}\n`);
}
copyFileSync(resolve(ROOT, "src/ui/browser/icon.svg"), resolve(OUT, "icon.svg"));
