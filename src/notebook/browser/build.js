/*
 * Bundles the browser part of a notebook's page: the style, and one script per family of charts, so that a page
 * contains only the scripts that it needs. Each script ends with the licences of its packages. Part of `npm run build`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const OUT = resolve(ROOT, "dist/notebook");

const { outputFiles, metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ["page.ts", "plots.ts", "candles.ts", "page.css"].map(
    (name) => `src/notebook/browser/${name}`,
  ),
  outdir: OUT,
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

/** The licences of the packages that files belong to, as a comment; packages with the same licence share it. */
function licences(files) {
  const folders = new Set(
    files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []),
  );
  const packages = new Map();
  for (const folder of folders) {
    const manifest = JSON.parse(readFileSync(resolve(ROOT, folder, "package.json"), "utf8"));
    const text = licenceOf(folder, manifest);
    packages.set(text, [...(packages.get(text) ?? []), `${manifest.name} ${manifest.version}`]);
  }
  return [...packages]
    .map(([text, names]) => `\n/*! ${names.join(", ")}\n\n${text.replaceAll("*/", "* /")}\n*/`)
    .join("");
}

/** A package's licence; if it is long, or not in the package, its identifier, the author and the homepage. */
function licenceOf(folder, { license, author, homepage, repository }) {
  const file = resolve(ROOT, folder, "LICENSE");
  const text = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  if (text !== "" && text.length < 5000) return text;
  const owner = typeof author === "object" ? author.name : author;
  return [license, owner, homepage ?? repository?.url ?? repository].filter((said) => said).join(", ");
}
