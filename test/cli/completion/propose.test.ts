import { Command, Option } from "commander";
import { expect, test } from "vitest";
import { type Proposals, propose } from "../../../src/cli/commands/project/completion.js";

/** A command line like that of barlake. */
function program(): Command {
  const root = new Command("tool").description("a tool");
  root
    .command("ask")
    .description("ask it")
    .argument("[query]")
    .argument("[rest...]")
    .option("-f, --file <file>", "a file")
    .option("--loud", "say it loud")
    .addOption(new Option("--format <format>", "of the result").choices(["csv", "json"]))
    .option("--lake <location>", "the lake");
  const set = root.command("set").description("sets");
  set.command("build").description("build one").argument("<spec>").option("--to <date>", "a date");
  set.command("list").description("list them");
  return root;
}

const WORDS: Readonly<Record<string, Proposals>> = {
  query: { kind: "words", words: [{ word: "from bars", does: "" }] },
  rest: { kind: "words", words: [{ word: "more", does: "" }] },
  location: { kind: "folders", words: [] },
  spec: { kind: "files", words: [{ word: "daily", does: "all of them" }] },
};

async function after(...typed: string[]): Promise<[kind: string, ...words: string[]]> {
  const root = program();
  const { kind, words } = await propose(
    root,
    typed,
    async (name) => root.commands.find((one) => one.name() === name),
    async (name, placeholder) => WORDS[name] ?? WORDS[placeholder],
  );
  return [kind, ...words.map(({ word }) => word)];
}

test.each<[string[], string[]]>([
  [[""], ["words", "ask", "set", "help"]],
  [["a"], ["words", "ask"]],
  [
    ["help", "s"],
    ["words", "set"],
  ],
  [["help", "set", ""], ["words"]],
  [["--v"], ["words"]],
  [
    ["ask", "--f"],
    ["words", "--file", "--format"],
  ],
  [
    ["ask", "--format", ""],
    ["words", "csv", "json"],
  ],
  [
    ["ask", "--format", "c"],
    ["words", "csv"],
  ],
  [
    ["ask", "--format=j"],
    ["words", "--format=json"],
  ],
  [
    ["ask", "--format", "=", "j"],
    ["words", "json"],
  ],
  [["ask", "--lake", ""], ["folders"]],
  [["ask", "-f", ""], ["words"]],
  [
    ["ask", ""],
    ["words", "from bars"],
  ],
  [
    ["ask", '"from'],
    ["words", "from bars"],
  ],
  [
    ["ask", "--loud", ""],
    ["words", "from bars"],
  ],
  [
    ["ask", "--lake", "x", "q", ""],
    ["words", "more"],
  ],
  [
    ["ask", "q", "more", "m"],
    ["words", "more"],
  ],
  [["ask", "--", "--f"], ["words"]],
  [
    ["set", ""],
    ["words", "build", "list", "help"],
  ],
  [
    ["set", "build", ""],
    ["files", "daily"],
  ],
  [
    ["set", "build", "--t"],
    ["words", "--to"],
  ],
  [["set", "build", "--to", ""], ["words"]],
  [["nothing", ""], ["words"]],
])("%j is followed by %j", async (typed, proposed) => {
  expect(await after(...typed)).toEqual(proposed);
});
