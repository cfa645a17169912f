import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";

const SOURCES = new URL("../../src/", import.meta.url);
const textOf = (file: string): string => readFileSync(new URL(file, SOURCES), "utf8");
const fileOf = (from: string, specifier: string): string =>
  posix.join(posix.dirname(from), specifier).replace(/\.js$/, ".ts");

/** The names that a file exports from others, with the file of each. */
function exportsOf(file: string): { readonly name: string; readonly file: string }[] {
  const text = textOf(file);
  const named = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)"/gm)].flatMap(
    ([, names = "", from = ""]) =>
      names
        .split(",")
        .map((one) =>
          one
            .trim()
            .replace(/^type /, "")
            .replace(/ as .*/, ""),
        )
        .filter((name) => name !== "")
        .map((name) => ({ name, file: fileOf(file, from) })),
  );
  const whole = [...text.matchAll(/^export \* from "([^"]+)"/gm)].flatMap(([, from = ""]) =>
    [
      ...textOf(fileOf(file, from)).matchAll(
        /^export (?:abstract )?(?:class|interface|type|function|const) (\w+)/gm,
      ),
    ].map(([, name = ""]) => ({ name, file: fileOf(file, from) })),
  );
  return [...named, ...whole];
}

/** Whether the declaration of a name has a comment, in its file or in the file that it is imported from. */
function isDocumented(name: string, file: string): boolean {
  const text = textOf(file);
  const declared = new RegExp(
    `^export (?:abstract )?(?:async )?(?:class|interface|type|function\\*?|const) ${name}\\b`,
    "m",
  ).exec(text);
  if (declared !== null) return text.slice(0, declared.index).trimEnd().endsWith("*/");
  const from = new RegExp(`^import (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from "([^"]+)"`, "m").exec(
    text,
  )?.[1];
  return from !== undefined && isDocumented(name, fileOf(file, from));
}

test("everything that the package exports has a comment", () => {
  const all = exportsOf("index.ts");
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter(({ name, file }) => !isDocumented(name, file))).toEqual([]);
});
