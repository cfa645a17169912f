import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { UsageError } from "../../core/errors.js";
import {
  type Catalog,
  type CatalogMacro,
  type CommentedName,
  relationNamed,
  splitUnit,
} from "../../db/catalog.js";
import type { RisingColour } from "../../market/regions.js";
import { CHART_KINDS } from "../charts/chart-of-result.js";
import { cut, TABLE_MODES, type TableMode } from "../results/result-table.js";
import { type Cell, paint, table } from "../text.js";
import type { CommandChoices } from "./completion.js";
import type { ShellSession } from "./shell-session.js";

/** Runs the content of a file. @returns whether the shell continues. */
type ReadFile = (file: string) => Promise<boolean>;

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

interface Known {
  readonly catalog: Catalog;
  readonly columns: readonly string[];
}

const namesOf = ({ catalog }: Known): string[] => [
  ...new Set([...catalog.relations, ...catalog.macros].map(({ name }) => name)),
];

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

/** Every table, view and macro with the first sentence of its comment. */
export function listTables(catalog: Catalog, width: number | undefined, like = ""): string {
  const scalars = catalog.macros.filter(({ kind }) => kind === "macro");
  const entries = [
    ...catalog.relations.map(({ name, kind, comment }) => ({ name, kind: kind as string, comment })),
    ...scalars.map(({ name, summary }) => ({ name, kind: "macro", comment: summary })),
  ].filter(({ name }) => name.includes(like));
  if (entries.length === 0) {
    throw new UsageError(`nothing is called ${like}`, { hint: ".tables lists everything" });
  }
  const rows = entries.map(({ name, kind, comment }) => [name, kind, firstSentence(comment)]);
  return fitted(["name", "kind", "is"], rows, width);
}

/** The description of a table, a view or a macro. @throws {UsageError} for an unknown name. */
export function describeName(catalog: Catalog, name: string, width: number | undefined): string {
  const relation = relationNamed(catalog, name);
  const macro = catalog.macros.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (macro !== undefined) return describeMacro(macro, relation?.columns ?? [], width);
  if (relation === undefined) {
    throw new UsageError(`${name}: no table, view or macro is called so`, {
      hint: `${likeNames(catalog, name)}.tables lists them`,
    });
  }
  const rows = relation.columns.map(({ name: column, type, comment }) => {
    const { text, unit } = splitUnit(comment);
    return [column, type ?? "", unit, text];
  });
  const head = `${paint("bold", relation.name)}, ${relation.kind}`;
  const columns = fitted(["column", "type", "unit", "is"], rows, width);
  return [head, ...(relation.comment ? [relation.comment] : []), "", columns].join("\n");
}

function describeMacro(
  { name, kind, summary, parameters }: CatalogMacro,
  columns: readonly CommentedName[],
  width: number | undefined,
): string {
  const named = (parts: readonly CommentedName[], head: string): string[] => {
    const rows = parts.map((part) => {
      const { text, unit } = splitUnit(part.comment);
      return [part.name, unit, text];
    });
    return rows.length === 0 ? [] : ["", fitted([head, "unit", "is"], rows, width)];
  };
  const call = `${name}(${parameters.map((parameter) => parameter.name).join(", ")})`;
  return [
    `${paint("bold", call)}, ${kind}`,
    ...(summary === undefined ? [] : [summary]),
    ...named(parameters, "parameter"),
    ...named(columns, "column"),
  ].join("\n");
}

/** A table whose last column is cut to the width. */
function fitted(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): string {
  const before = head
    .slice(0, -1)
    .map((name, index) => Math.max(name.length, ...rows.map((row) => row[index]?.length ?? 0)) + 2);
  const available =
    width === undefined ? Number.POSITIVE_INFINITY : width - before.reduce((sum, n) => sum + n, 0);
  const cells = rows.map((row): Cell[] => [
    ...row.slice(0, -1),
    cut(row.at(-1) ?? "", Math.max(10, available)),
  ]);
  return table(head, cells);
}

function firstSentence(comment: string | undefined): string {
  return /^.*?\.(?=\s|$)/s.exec(comment ?? "")?.[0] ?? comment ?? "";
}

/** Names that contain the given name, or have the same beginning. */
function likeNames(catalog: Catalog, name: string): string {
  const start = name.toLowerCase().slice(0, 3);
  const names = [...new Set([...catalog.relations, ...catalog.macros].map((one) => one.name))];
  const like = names.filter((one) => one.includes(name.toLowerCase()) || one.startsWith(start)).slice(0, 3);
  return like.length === 0 ? "" : `did you mean ${like.join(", ")}? `;
}
