import type { Argument, Command, Option } from "commander";

/** A candidate for the next word, and what it means. */
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

/** Finds a command by its name, with its options and commands. */
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

/** The place of the word to complete. */
interface Place {
  readonly command: Command;
  /** Number of arguments before it. */
  readonly position: number;
  /** The option whose value it is. */
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
