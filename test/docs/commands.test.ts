import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { blocksOf, PAGES, textOf } from "./doc-commands.js";

/** Commands with commands of their own. */
const GROUPS = ["dataset", "keys", "runs", "trino"];

/** What a block may need that the tests do not have, and why. */
const NEEDS: Readonly<Record<string, string>> = {
  claude: "a client of the Model Context Protocol",
  files: "files that the reader has",
  machines: "several machines, or a folder of a server",
  network: "a registry of packages",
  python: "libraries of Python: test/interop installs and runs them",
  shells: "three shells: test/cli/completion runs them",
  store: "an object store with a name: test/interop/stores.sh has one for the tests",
  systemd: "a service of systemd",
  trino: "a Trino: test/interop/trino",
};

/** The commands of barlake in the blocks of a page, and in its prose, each as its words. */
function commandsOf(page: string): string[][] {
  const lines = [
    ...blocksOf(page).flatMap(({ code }) => code.replaceAll("\\\n", " ").split("\n")),
    ...[...textOf(page).matchAll(/`((?:npx )?barlake [a-z][^`]*)`/g)].map(([, command = ""]) => command),
  ];
  return lines.flatMap((line) =>
    [
      ...line
        .replace(/(^|\s)#.*/, "")
        .replace(/"\$\(date[^)]*\)"/, "TEXT")
        .matchAll(/\bbarlake ([a-z]+\b[^|;&)]*)/g),
    ].map(([, words = ""]) =>
      words
        .replaceAll(/"[^"]*"|'[^']*'/g, "TEXT")
        .trim()
        .split(/\s+/),
    ),
  );
}

const HELP = new Map<string, string>();

async function helpOf(command: readonly string[]): Promise<string> {
  const name = command.join(" ");
  const known = HELP.get(name) ?? (await runCli([...command, "--help"])).stdout;
  HELP.set(name, known);
  return known;
}

test.each(PAGES.filter((page) => commandsOf(page).length > 0))(
  "%s: every command that it names is there, with the options that it has",
  async (page) => {
    const wrong: string[] = [];
    for (const [name = "", ...words] of commandsOf(page)) {
      const own = GROUPS.includes(name) && /^[a-z]+$/.test(words[0] ?? "") ? [name, words[0] ?? ""] : [name];
      const help = await helpOf(own);
      if (!help.includes(`Usage: barlake ${own.join(" ")}`)) wrong.push(`no command ${own.join(" ")}`);
      for (const word of words) {
        const [option = ""] = /^--?[a-z][\w-]*/.exec(word) ?? [];
        if (option !== "" && !new RegExp(`(^|[ ,])${option}\\b(?!-)`, "m").test(help))
          wrong.push(`${own.join(" ")} has no option ${option}`);
      }
    }
    expect(wrong).toEqual([]);
  },
);

test("README.zh.md has no command that README.md does not have", () => {
  const linesOf = (page: string): string[] =>
    blocksOf(page).flatMap(({ code }) => code.split("\n").map((line) => line.replace(/\s+#.*/, "")));
  const english = linesOf("README.md");
  expect(linesOf("README.zh.md").length).toBeGreaterThan(20);
  expect(linesOf("README.zh.md").filter((line) => !english.includes(line))).toEqual([]);
});

test("a block that the tests do not run says what it needs", () => {
  const needs = PAGES.flatMap((page) => blocksOf(page).map((block) => block.needs)).filter(
    (one) => one !== undefined,
  );
  expect(needs.length).toBeGreaterThan(5);
  expect(new Set(needs.filter((one) => !(one in NEEDS)))).toEqual(new Set());
  expect(Object.keys(NEEDS).filter((one) => !needs.includes(one))).toEqual([]);
});
