import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The program of a worker in one file, which loads in half of the time; it finds packages and views as in `dist`.
 *
 * @param source its TypeScript file. @param folder an empty folder.
 */
export async function bundledProgram(source: string, folder: string): Promise<string> {
  for (const name of ["node_modules", "sql", "package.json"])
    await symlink(join(ROOT, name), join(folder, name));
  // Modules look for the views three folders above their own, as in `dist/db/views`, and for package.json two above.
  const outfile = join(folder, "dist", "faults", "worker", "worker.mjs");
  await mkdir(dirname(outfile), { recursive: true });
  await symlink(join(ROOT, "package.json"), join(folder, "dist", "package.json"));
  const require =
    'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["@duckdb/node-bindings*"],
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: require },
    logLevel: "error",
  });
  return outfile;
}
