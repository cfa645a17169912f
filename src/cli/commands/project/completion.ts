import { Argument } from "commander";
import type { Cli } from "../../cli.js";
import { knownValues } from "../../completion/known-values.js";
import { propose } from "../../completion/propose.js";
import { SCRIPTS, SHELLS, type Shell } from "../../completion/scripts.js";
import { EXIT } from "../../exit-codes.js";

export function addCompletion(cli: Cli): void {
  cli.program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .argument("[words...]", "after --: the words typed so far; prints the candidates for the last one")
    .addHelpText(
      "after",
      `
Prints a script that makes Tab complete commands, options, and values that are known: formats, tables, views, pipelines,
notebooks, datasets, files. It needs barlake in the PATH: npm install --global barlake, or node_modules/.bin in it.

Examples:
  eval "$(barlake completion bash)"              in ~/.bashrc
  eval "$(barlake completion zsh)"               in ~/.zshrc, after compinit
  barlake completion fish | source               in ~/.config/fish/config.fish`,
    )
    .action((shell: Shell, words: readonly string[]) =>
      cli.action(async () => {
        process.stdout.write(words.length === 0 ? SCRIPTS[shell] : await answerFor(cli, words));
        return EXIT.done;
      }),
    );
}

/** The candidates for the last word, as the scripts read them. */
async function answerFor(cli: Cli, words: readonly string[]): Promise<string> {
  const { kind, words: proposed } = await propose(cli.program, words, cli.load, knownValues);
  return [kind, ...proposed.map(({ word, does }) => `${word}\t${firstLine(does)}`), ""].join("\n");
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.replaceAll("\t", " ") ?? "";
}
