import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { onOneLine } from "../../db/statement/split-statements.js";

/** Maximum number of entries at the start of a session; a longer file is cut to this. */
const MOST_ENTRIES = 1000;

/** The entries of this session and of earlier ones. A class because it stores the file's state. */
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
