import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { onOneLine } from "../../db/split-statements.js";

/** Entries that a session begins with, and above which a file is cut. */
const KEPT = 1000;

/** What was entered, in this session and in earlier ones. A class because it holds the file. */
export class History {
  readonly #file: string;
  /** Undefined until the first entry of this session: whether the file takes entries. */
  #isWritable: boolean | undefined;

  /** @param file one entry a line, the newest last; need not exist. */
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
    if (lines.length > KEPT * 2) this.#cut(lines.slice(-KEPT));
    return [...new Set(lines.reverse())].slice(0, KEPT);
  }

  /**
   * Keeps a statement or a dot command, on one line. One that begins with a blank is not kept, and neither is one with a
   * line's end in a string.
   *
   * @returns what was kept.
   */
  keep(entered: string): string | undefined {
    if (/^\s/.test(entered)) return undefined;
    const entry = entered.startsWith(".") ? entered.trim() : onOneLine(entered);
    if (entry === undefined || entry === "") return undefined;
    this.#append(entry);
    return entry;
  }

  /** A file that cannot be written keeps nothing beyond the session. */
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
