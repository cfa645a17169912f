import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { callbackify } from "node:util";
import { messageOf, QueryError } from "../../core/errors.js";
import { userFolder } from "../../core/user-folder.js";
import { onOneLine } from "../../db/sql-tokens.js";
import { errorText } from "../error-text.js";
import { paint } from "../text.js";
import { type Completions, completeCommand, completeSql } from "./completion.js";
import { commandChoices } from "./dot-commands.js";
import { EntryReader, runEntry, runFile } from "./run-entry.js";
import { ShellSession, type ShellSettings } from "./shell-session.js";
import type { SqlPlace } from "./sql-place.js";

/** Maximum number of entries at the start of a session; a longer file is cut to this. */
const MOST_ENTRIES = 1000;

/** The entries of this session and of earlier ones. */
export class History {
  readonly #file: string;
  /** Whether the file can be written; undefined until the first entry of this session. */
  #isWritable: boolean | undefined;

  /** @param file one entry per line, the newest last; it need not exist. */
  constructor(file: string) {
    this.#file = file;
  }

  /** The entries so far, the newest first, each once. */
  read(): string[] {
    let lines: string[];
    try {
      lines = readFileSync(this.#file, "utf8")
        .split("\n")
        .filter((line) => line !== "");
    } catch {
      return [];
    }
    if (lines.length > MOST_ENTRIES * 2) this.#cut(lines.slice(-MOST_ENTRIES));
    return [...new Set(lines.reverse())].slice(0, MOST_ENTRIES);
  }

  /**
   * Stores a statement or a dot command, on one line. An entry that begins with a blank, or has a line break in a
   * string, is not stored.
   *
   * @returns the entry as stored.
   */
  add(entered: string): string | undefined {
    if (/^\s/.test(entered)) return undefined;
    const entry = entered.startsWith(".") ? entered.trim() : onOneLine(entered);
    if (entry === undefined || entry === "") return undefined;
    this.#append(entry);
    return entry;
  }

  /** If the file cannot be written, the entry is lost at the end of the session. */
  #append(entry: string): void {
    if (this.#isWritable === false) return;
    try {
      mkdirSync(dirname(this.#file), { recursive: true });
      appendFileSync(this.#file, `${entry}\n`, { mode: 0o600 });
      this.#isWritable = true;
    } catch {
      this.#isWritable = false;
    }
  }

  #cut(lines: readonly string[]): void {
    try {
      writeFileSync(this.#file, `${lines.join("\n")}\n`, { mode: 0o600 });
    } catch {
      this.#isWritable = false;
    }
  }
}

const PROMPT = "barlake> ";
const CONTINUED = "    ...> ";

/**
 * Reads entries from a terminal until Ctrl-D or .quit, with history and completion. An error is printed, and the shell
 * continues. Ctrl-C stops the running statement, otherwise it discards the input.
 */
async function runInteractive(
  shell: ShellSession,
  place: SqlPlace,
  { history, signal }: { readonly history: History; readonly signal: AbortSignal },
): Promise<void> {
  const entries = new EntryReader();
  let isRunning = false;
  let stopping: NodeJS.Timeout | undefined;
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    history: history.read(),
    historySize: 1000,
    removeHistoryDuplicates: true,
    completer: callbackify(async (line: string): Promise<[string[], string]> => {
      const { found, word } = await complete(shell, entries.pending, line, lines);
      return [[...found], word];
    }),
    signal,
  });
  const recalled = keepStatements(lines);
  let isOpen = true;
  lines.once("close", () => {
    isOpen = false;
  });
  const prompt = (): void => {
    // After Ctrl-D during a statement, a prompt would open the terminal again.
    if (!isOpen) return;
    lines.setPrompt(entries.pending === "" ? PROMPT : CONTINUED);
    lines.prompt();
  };
  lines.on("SIGINT", () => {
    if (isRunning) {
      // A statement that has not begun yet misses an interrupt, so the interrupt is repeated.
      stopping ??= setInterval(() => place.engine.interrupt(), 20);
      return place.engine.interrupt();
    }
    // Go to the end of the line and delete everything before it.
    lines.write(null, { ctrl: true, name: "e" });
    lines.write(null, { ctrl: true, name: "u" });
    entries.clear();
    process.stdout.write("^C\n");
    prompt();
  });
  process.stdout.write(`${paint("bold", place.title)}\n`);
  process.stdout.write(`${paint("dim", 'SQL ends with ";". Tab completes, .help helps, Ctrl-D leaves.')}\n`);
  prompt();
  for await (const line of lines) {
    isRunning = true;
    const goesOn = await runLine(shell, place, entries, line, (written) => {
      const entry = history.add(written);
      if (entry !== undefined) recalled(entry);
    });
    isRunning = false;
    clearInterval(stopping);
    stopping = undefined;
    if (!goesOn) break;
    prompt();
  }
  lines.close();
}

async function runLine(
  shell: ShellSession,
  place: SqlPlace,
  entries: EntryReader,
  line: string,
  add: (written: string) => void,
): Promise<boolean> {
  try {
    if (line.trim() === "" && entries.pending === "") {
      if (await shell.hasMore()) await shell.more();
      return true;
    }
    const completed = entries.take(line);
    for (const { written } of completed) add(written);
    for (const entry of completed) if (!(await runEntry(shell, entry))) return false;
  } catch (error) {
    const shown = error instanceof QueryError ? await place.withProposals(error) : error;
    const isStopped = messageOf(shown).startsWith("INTERRUPT Error");
    process.stdout.write(`${isStopped ? paint("yellow", "stopped") : errorText(shown)}\n`);
  }
  return true;
}

/**
 * Makes the terminal's history contain whole statements: single lines are removed as they are added.
 *
 * @returns a function that adds an entry.
 */
function keepStatements(lines: Interface): (entry: string) => void {
  let entries: string[] | undefined;
  lines.on("history", (history) => {
    entries = history;
    history.shift();
  });
  return (entry) => {
    if (entries === undefined) return;
    const known = entries.indexOf(entry);
    if (known >= 0) entries.splice(known, 1);
    entries.unshift(entry);
  };
}

async function complete(
  shell: ShellSession,
  pending: string,
  line: string,
  { line: whole }: Interface,
): Promise<Completions> {
  try {
    const catalog = await shell.catalog();
    if (pending === "" && line.startsWith("."))
      return completeCommand(line, commandChoices({ catalog, columns: shell.lastColumns }, line));
    return completeSql(pending + line, catalog, whole.slice(line.length));
  } catch {
    return { found: [], word: "" };
  }
}

/** Runs the entries of standard input, without prompts, until one fails. @throws {BarlakeError} the failure. */
async function runPiped(shell: ShellSession, signal: AbortSignal): Promise<void> {
  const entries = new EntryReader();
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY, signal });
  try {
    for await (const line of lines)
      for (const entry of entries.take(line)) if (!(await runEntry(shell, entry))) return;
    for (const entry of entries.end()) await runEntry(shell, entry);
  } finally {
    lines.close();
  }
}

/** What a shell runs before its first line. */
export interface StartupFile {
  readonly path: string;
  /** Whether an option named it, so that it must be there and must be without mistakes. */
  readonly isNamed: boolean;
}

/**
 * The startup file of a shell: one that the user names, otherwise `shell.sql` of the user's settings if it is there, and
 * the shell is at a terminal. A file of the working directory is never run by itself: a shell in a folder that came from
 * others would run what they wrote. Piped input is a program, and means the same for every user.
 *
 * @param named the value of `--init FILE`; false: `--no-init`.
 */
function startupFile(named: string | false | undefined, isInteractive: boolean): StartupFile | undefined {
  if (named === false) return undefined;
  if (named !== undefined) return { path: named, isNamed: true };
  const path = join(userFolder("config", process.env), "shell.sql");
  return isInteractive && existsSync(path) ? { path, isNamed: false } : undefined;
}

export interface ShellOptions {
  readonly settings: ShellSettings;
  readonly historyFile: string;
  /** The value of `--init FILE`; false: `--no-init`. */
  readonly init: string | false | undefined;
  readonly signal: AbortSignal;
}

/** A shell on standard input; only a terminal gets prompts. @throws {BarlakeError} the first failure of piped input. */
export async function runShell(
  place: SqlPlace,
  { settings, historyFile, init, signal }: ShellOptions,
): Promise<void> {
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY;
  const shell = new ShellSession(place, { settings, isInteractive });
  try {
    const startup = startupFile(init, isInteractive);
    if (startup !== undefined && !(await runStartup(shell, place, startup))) return;
    if (!isInteractive) await runPiped(shell, signal);
    else await runInteractive(shell, place, { history: new History(historyFile), signal });
  } finally {
    await shell.close();
  }
}

/**
 * Runs the startup file. A mistake in a file that was not named by an option is printed, and the shell begins without the rest of the file.
 *
 * @returns whether the shell continues.
 */
async function runStartup(
  shell: ShellSession,
  place: SqlPlace,
  { path, isNamed }: StartupFile,
): Promise<boolean> {
  if (isNamed) return runFile(shell, path);
  shell.say(`runs ${path}; --no-init leaves it out`);
  try {
    return await runFile(shell, path);
  } catch (error) {
    const shown = error instanceof QueryError ? await place.withProposals(error) : error;
    process.stdout.write(`${paint("yellow", `${path} was not run to its end:`)}\n${errorText(shown)}\n`);
    return true;
  }
}
