import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { UsageError } from "../../core/errors.js";
import type { Catalog } from "../../db/catalog.js";
import type { RisingColour } from "../../market/regions.js";
import { CHART_KINDS } from "../charts/chart-of-result.js";
import { TABLE_MODES, type TableMode } from "../results/result-table.js";
import { table } from "../text.js";
import type { CommandChoices } from "./completion.js";
import { describeName, listTables } from "./describe.js";
import type { ShellSession } from "./shell-session.js";

/** Runs the content of a file. @returns whether the shell continues. */
type ReadFile = (file: string) => Promise<boolean>;

/** A command that begins with a dot. */
interface DotCommand {
  readonly name: string;
  readonly takes: string;
  readonly does: string;
  /** @returns false if the shell ends. */
  readonly run: (
    shell: ShellSession,
    parameters: readonly string[],
    read: ReadFile,
  ) => Promise<boolean | void>;
  /** Possible values of the parameter at an index, from 0. */
  readonly choices?: (known: Known, place: number, word: string) => readonly string[];
}

/** The names for completion. */
interface Known {
  readonly catalog: Catalog;
  readonly columns: readonly string[];
}

const namesOf = ({ catalog }: Known): string[] => [
  ...new Set([...catalog.relations, ...catalog.macros].map(({ name }) => name)),
];

/** Colours of candles that rise. */
const RISING: readonly RisingColour[] = ["green", "red"];

const COMMANDS: readonly DotCommand[] = [
  {
    name: ".tables",
    takes: "[TEXT]",
    does: "tables, views and macros, or those with a text in their names",
    run: async (shell, [like]) => shell.print(listTables(await shell.catalog(), shell.width, like)),
  },
  {
    name: ".describe",
    takes: "NAME",
    does: "columns of one, with types, units and comments; parameters of a macro",
    run: async (shell, [name]) => {
      if (name === undefined) throw new UsageError(".describe: needs a name", { hint: ".tables lists them" });
      shell.print(describeName(await shell.catalog(), name, shell.width));
    },
    choices: (known) => namesOf(known),
  },
  {
    name: ".chart",
    takes: "[line|bar|candlestick] [X] [Y] [rising=red|green]",
    does: "draw the last result; without parameters, as its columns suggest",
    run: async (shell, parameters) => {
      const rising = RISING.find((colour) => parameters.includes(`rising=${colour}`));
      const named = parameters.filter((one) => one !== `rising=${rising}`);
      const kind = CHART_KINDS.find((one) => one === named[0]);
      const [x, y] = kind === undefined ? named : named.slice(1);
      await shell.chart({ kind, x, y, rising });
    },
    choices: ({ columns }, place) => [
      ...(place === 0 ? CHART_KINDS : []),
      ...columns,
      ...RISING.map((colour) => `rising=${colour}`),
    ],
  },
  {
    name: ".more",
    takes: "",
    does: "the next rows of the last result; so does Enter where there are some",
    run: (shell) => shell.more(),
  },
  {
    name: ".mode",
    takes: "table|wide|lines",
    does: "columns that fit; all columns; a line for each value",
    run: async (shell, [mode]) => {
      shell.settings.mode = oneOf<TableMode>(".mode", mode, TABLE_MODES);
    },
    choices: () => TABLE_MODES,
  },
  {
    name: ".limit",
    takes: "N|auto",
    does: "rows shown at a time; auto: what the terminal has lines for",
    run: async (shell, [text = ""]) => {
      const rows = Number(text);
      if (text !== "auto" && (!Number.isSafeInteger(rows) || rows < 1)) {
        throw new UsageError(`.limit ${text}: must be a whole number of at least 1, or auto`);
      }
      shell.settings.limit = text === "auto" ? undefined : rows;
    },
    choices: () => ["auto"],
  },
  {
    name: ".timing",
    takes: "on|off",
    does: "say how long statements took",
    run: async (shell, [text]) => {
      shell.settings.timing = oneOf(".timing", text, ["on", "off"]) === "on";
    },
    choices: () => ["on", "off"],
  },
  {
    name: ".read",
    takes: "FILE",
    does: "run the statements and commands of a file, until one fails",
    run: async (_, parameters, read) => {
      if (parameters.length === 0) throw new UsageError(".read: needs the name of a file");
      return read(parameters.join(" "));
    },
    choices: (_, __, word) => filesLike(word),
  },
  {
    name: ".output",
    takes: "FILE|off",
    does: "the next result as .csv, .json, .parquet, .xlsx, .arrow or .md; or, with another ending, all output",
    run: async (shell, parameters) => {
      if (parameters.length === 0) throw new UsageError(".output: needs the name of a file, or off");
      const file = parameters.join(" ");
      await shell.redirect(file === "off" ? undefined : file);
    },
    choices: (_, __, word) => ["off", ...filesLike(word)],
  },
  {
    name: ".help",
    takes: "",
    does: "this list",
    run: async (shell) => shell.print(help()),
  },
  { name: ".quit", takes: "", does: "leave; so do exit, quit and Ctrl-D", run: async () => false },
];

/** Names of commands in other shells that users may type. */
const ALIASES: Readonly<Record<string, string>> = {
  ".exit": ".quit",
  exit: ".quit",
  quit: ".quit",
  ".schema": ".describe",
};

/** Runs a command. @returns whether the shell continues. @throws {UsageError} for an unknown command. */
export async function runCommand(shell: ShellSession, text: string, read: ReadFile): Promise<boolean> {
  const [typed = "", ...parameters] = text.replace(/\s*;?\s*$/, "").split(/\s+/);
  const name = ALIASES[typed.toLowerCase()] ?? typed;
  const command = COMMANDS.find((one) => one.name === name);
  if (command !== undefined) return (await command.run(shell, parameters, read)) !== false;
  const like = COMMANDS.find((one) => one.name.startsWith(name) || name.startsWith(one.name.slice(0, 3)));
  throw new UsageError(`${name} is no command`, {
    hint: `${like && name.length > 1 ? `did you mean ${like.name}? ` : ""}.help lists them`,
  });
}

/** The data for completing a line that begins with a dot. */
export function commandChoices(known: Known, line: string): CommandChoices[] {
  const word = /\S*$/.exec(line)?.[0] ?? "";
  return COMMANDS.map(({ name, choices }) => ({
    name,
    choices: (place) => choices?.(known, place, word) ?? [],
  }));
}

function oneOf<T extends string>(command: string, text: string | undefined, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new UsageError(`${command} ${text ?? ""}`.trimEnd() + `: must be ${choices.join(", ")}`);
}

function filesLike(word: string): string[] {
  const folder = word.endsWith("/") ? word : dirname(word);
  try {
    return readdirSync(folder === "" ? "." : folder, { withFileTypes: true }).map((entry) => {
      const path = word.includes("/") ? join(folder, entry.name) : entry.name;
      return entry.isDirectory() ? `${path}/` : path;
    });
  } catch {
    return [];
  }
}

function help(): string {
  const commands = table(
    ["command", "", "does"],
    COMMANDS.map(({ name, takes, does }) => [name, takes, does]),
  );
  return `SQL ends with a semicolon and may span lines. Tab completes. Ctrl-C clears the line, or stops what runs.
A line that begins with a blank is not added to the history.

${commands}`;
}
