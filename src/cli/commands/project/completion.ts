import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { Argument, type Command, type Option } from "commander";
import { type Cli, EXIT } from "../../cli.js";

export interface Proposal {
  readonly word: string;
  readonly does: string;
}

/** The candidates: words and, where the shell is to add them, files or folders. */
export interface Proposals {
  readonly kind: "words" | "files" | "folders";
  readonly words: readonly Proposal[];
}

const NOTHING: Proposals = { kind: "words", words: [] };

/** What is known of the values of an option or an argument; undefined: nothing. */
export type KnownValues = (name: string, placeholder: string) => Promise<Proposals | undefined>;

export type LoadCommand = (name: string) => Promise<Command | undefined>;

/**
 * The candidates for the last word, which the commands define.
 *
 * @param program has every command by name and description.
 * @param typed the words behind the program's name; the last one is the one to complete, and may be empty.
 */
export async function propose(
  program: Command,
  typed: readonly string[],
  load: LoadCommand,
  known: KnownValues,
): Promise<Proposals> {
  // As it was typed: with the quote that is open, or with what the shell escapes.
  const current = (typed.at(-1) ?? "").replace(/^["']/, "").replaceAll(/\\(.)/g, "$1");
  const [first, ...rest] = typed.slice(0, -1);
  if (first === undefined)
    return matching(current, current.startsWith("-") ? optionsOf(program) : commandsOf(program));
  // After help comes the name of a command.
  if (first === "help") return rest.length === 0 ? propose(program, typed.slice(1), load, known) : NOTHING;
  const command = await load(first);
  if (command === undefined) return NOTHING;
  const place = placeOf(command, rest);
  if (place.value !== undefined) return matching(current, await valuesOf(place.value, known));
  const [, name = "", begun] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? [];
  const option = begun === undefined ? undefined : findOption(place.command, name);
  if (option !== undefined && begun !== undefined) {
    const { words } = matching(begun, await valuesOf(option, known));
    return { kind: "words", words: words.map((one) => ({ ...one, word: `${name}=${one.word}` })) };
  }
  if (current.startsWith("-") && !place.isBehindOptions) return matching(current, optionsOf(place.command));
  if (place.command.commands.length > 0 && place.position === 0)
    return matching(current, commandsOf(place.command));
  const { registeredArguments: parameters } = place.command;
  const last = parameters.at(-1);
  const parameter = parameters[place.position] ?? (last?.variadic ? last : undefined);
  return parameter === undefined ? NOTHING : matching(current, await valuesOf(parameter, known));
}

interface Place {
  readonly command: Command;
  readonly position: number;
  readonly value: Option | undefined;
  /** Whether `--` comes before it. */
  readonly isBehindOptions: boolean;
}

function placeOf(asked: Command, words: readonly string[]): Place {
  let command = asked;
  let position = 0;
  let value: Option | undefined;
  let isBehindOptions = false;
  for (const word of words) {
    // Bash gives --name=value as three words.
    if (value !== undefined && word === "=") continue;
    if (value !== undefined) value = undefined;
    else if (word === "--") isBehindOptions = true;
    else if (!isBehindOptions && /^-./.test(word)) {
      const option = findOption(command, word);
      if (option?.required || option?.optional) value = option;
    } else {
      const inner = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (inner === undefined) position += 1;
      else command = inner;
    }
  }
  return { command, position, value, isBehindOptions };
}

function findOption(command: Command, name: string): Option | undefined {
  return command.options.find(({ long, short }) => long === name || short === name);
}

function commandsOf(command: Command): Proposals {
  const words = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ word: one.name(), does: one.description() }));
  return { kind: "words", words };
}

function optionsOf(command: Command): Proposals {
  const words = command
    .createHelp()
    .visibleOptions(command)
    .map((one) => ({ word: one.long ?? one.short ?? "", does: one.description }));
  return { kind: "words", words };
}

/** The values of an option or an argument: its choices, otherwise what is known of it, otherwise files. */
async function valuesOf(one: Option | Argument, known: KnownValues): Promise<Proposals> {
  if (one.argChoices !== undefined)
    return { kind: "words", words: one.argChoices.map((word) => ({ word, does: "" })) };
  const isOption = "flags" in one;
  const placeholder = isOption ? (/[<[]([^>\]]+?)(?:\.\.\.)?[>\]]/.exec(one.flags)?.[1] ?? "") : one.name();
  return (await known(isOption ? one.attributeName() : one.name(), placeholder)) ?? NOTHING;
}

function matching(begun: string, { kind, words }: Proposals): Proposals {
  return { kind, words: words.filter(({ word }) => word.startsWith(begun)) };
}

const FILES: Proposals = { kind: "files", words: [] };
const FOLDERS: Proposals = { kind: "folders", words: [] };

const named = (names: Iterable<string>, does = ""): Proposal[] => [...names].map((word) => ({ word, does }));

/** The endings of names of files with SQL. */
const SQL = /\.sql$/;

const CREATES_VIEW = /^CREATE\s+(OR\s+REPLACE\s+)?VIEW\b/im;

/** Values by the name of the option or argument, where that says more than its placeholder. */
const BY_NAME: Readonly<Record<string, () => Promise<Proposals>>> = {
  file: notebooks,
  query: async () => ({
    kind: "words",
    words: (await relations()).map((name) => ({ word: `from ${name}`, does: "" })),
  }),
};

/** Values by placeholder: `<table>`, `[pipelines...]`. */
const BY_PLACEHOLDER: Readonly<Record<string, () => Promise<Proposals>>> = {
  pipeline: pipelines,
  pipelines,
  spec: specs,
  datasets: async () => FOLDERS,
  "table=n": async () => ({ kind: "words", words: named((await tables()).map((name) => `${name}=`)) }),
  list: regions,
  location: async () => FOLDERS,
  from: async () => FOLDERS,
  to: async () => FOLDERS,
  file: async () => FILES,
  files: async () => FILES,
};

/**
 * The values that are known without reading a lake, and without running a file of the user. What knows them is loaded
 * only when they are asked for: somebody waits at the keyboard.
 */
export async function knownValues(name: string, placeholder: string): Promise<Proposals | undefined> {
  return (BY_NAME[name] ?? BY_PLACEHOLDER[placeholder])?.();
}

async function notebooks(): Promise<Proposals> {
  const { usersNotebooks } = await import("../../notebook/find-notebook.js");
  const { shippedNotebooks } = await import("../../../notebook/shipped-notebooks.js");
  const shipped = shippedNotebooks().map(({ name, title }) => ({ word: name, does: title }));
  return { kind: "files", words: [...named(sqlFilesIn(usersNotebooks()), "your notebook"), ...shipped] };
}

async function pipelines(): Promise<Proposals> {
  const { pipelineFiles } = await import("../../../jobs/pipeline/load-pipeline.js");
  const { usersPipelines } = await import("../../options/options.js");
  return { kind: "files", words: named((await pipelineFiles(usersPipelines())).keys(), "pipeline") };
}

async function specs(): Promise<Proposals> {
  const { shippedSpecs } = await import("../../options/load-spec.js");
  return { kind: "files", words: shippedSpecs().map(({ name, doc }) => ({ word: name, does: doc })) };
}

async function regions(): Promise<Proposals> {
  const { REGION_NAMES } = await import("../../../market/regions.js");
  return { kind: "words", words: named(REGION_NAMES) };
}

async function tables(): Promise<string[]> {
  const { TABLES } = await import("../../../schema/tables.js");
  return TABLES.map(({ name }) => name);
}

/** Tables and views of every lake, and the user's views; a macro needs parameters and is left out. */
async function relations(): Promise<string[]> {
  const { ownViewFiles, readViewFiles } = await import("../../../db/views/view-files.js");
  const views = [...ownViewFiles(), ...readViewFiles(process.env.BARLAKE_VIEWS || "sql/views")]
    .filter(({ sql }) => CREATES_VIEW.test(sql))
    .map(({ path }) => basename(path, ".sql"));
  return [...new Set([...(await tables()), ...views])].sort();
}

function sqlFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => SQL.test(file))
      .map((file) => file.replace(SQL, ""))
      .sort();
  } catch {
    return [];
  }
}

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/*
 * Each script asks `barlake completion SHELL -- WORDS...` for the candidates. The first line of the response says
 * whether the shell adds files or folders; each other line is a word, a tab, and what the word means.
 */
const BASH = `# Completion of barlake. In ~/.bashrc:  eval "$(barlake completion bash)"
_barlake() {
  local line kind="" current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
      continue
    fi
    line=\${line%%$'\\t'*}
    # Within quotes nothing is escaped.
    [[ $current == [\\"\\']* ]] || printf -v line '%q' "$line"
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # A word that ends with = goes on.
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace
  case $kind in
    files | folders)
      local option=-f
      [[ $kind == folders ]] && option=-d
      if [[ \${#COMPREPLY[@]} -eq 0 ]]; then
        # Readline's own completion of names knows ~ and quotes.
        [[ $kind == folders ]] && compopt -o dirnames || compopt -o default
      else
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$option" -- "$current")
        compopt -o filenames
      fi
      ;;
  esac
}
complete -F _barlake barlake
`;

const ZSH = `#compdef barlake
# Completion of barlake. In ~/.zshrc, after compinit:  eval "$(barlake completion zsh)"
_barlake() {
  local -a lines values
  local line kind
  lines=("\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  kind=\${lines[1]}
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#values )) && _describe -t values barlake values
  case $kind in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _barlake ]]; then
  _barlake "$@"
else
  compdef _barlake barlake
fi
`;

const FISH = `# Completion of barlake. In ~/.config/fish/config.fish:  barlake completion fish | source
function __barlake_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null)
    printf '%s\\n' $lines[2..-1]
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current"
    end
end
complete -c barlake -f -a '(__barlake_complete)'
`;

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export function addCompletion(cli: Cli): void {
  cli.program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .argument("[words...]", "after --: the words typed so far; prints the candidates for the last one")
    .notes(`
Prints a script that makes Tab complete commands, options, and values that are known: formats, tables, views, pipelines,
notebooks, datasets, files. It needs barlake in the PATH: npm install --global barlake, or node_modules/.bin in it.

Examples:
  eval "$(barlake completion bash)"              in ~/.bashrc
  eval "$(barlake completion zsh)"               in ~/.zshrc, after compinit
  barlake completion fish | source               in ~/.config/fish/config.fish`)
    .does(async (shell: Shell, words: readonly string[]) => {
      process.stdout.write(words.length === 0 ? SCRIPTS[shell] : await answerFor(cli, words));
      return EXIT.done;
    });
}

/** The candidates for the last word, as the scripts read them. */
async function answerFor(cli: Cli, words: readonly string[]): Promise<string> {
  const { kind, words: proposed } = await propose(cli.program, words, cli.load, knownValues);
  return [kind, ...proposed.map(({ word, does }) => `${word}\t${firstLine(does)}`), ""].join("\n");
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.replaceAll("\t", " ") ?? "";
}
