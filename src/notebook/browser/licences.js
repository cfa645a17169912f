/* The licences of bundled packages, which are appended to each bundle. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * The licences of the packages to which files belong, as a comment. Packages with the same licence are listed together.
 */
export function licences(files) {
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

/** The licence of a package. If it is long, or missing in the package: its identifier, the author and the homepage. */
function licenceOf(folder, { license, author, homepage, repository }) {
  // The name of the file differs between packages: LICENSE, license, LICENSE.md or LICENSE-MIT.txt.
  const name = readdirSync(resolve(ROOT, folder)).find((one) => /^licen[cs]e(?:[-.].*)?$/i.test(one));
  const text = name === undefined ? "" : readFileSync(resolve(ROOT, folder, name), "utf8").trim();
  if (text !== "" && text.length < 5000) return text;
  const owner = typeof author === "object" ? author.name : author;
  return [license, owner, homepage ?? repository?.url ?? repository].filter((said) => said).join(", ");
}
