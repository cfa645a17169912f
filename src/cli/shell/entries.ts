import { splitStatements } from "../../db/split-statements.js";

/** What was entered: a statement, or a command that begins with a dot. */
export interface Entry {
  readonly kind: "statement" | "command";
  readonly text: string;
  /** Line of its beginning among all lines, from 1. */
  readonly line: number;
  /** What was written, with the blanks before it. */
  readonly written: string;
}

/** Makes entries of lines. A class because it holds a statement that is not whole yet. */
export class EntryReader {
  #pending = "";
  #line = 0;
  /** Line at which what is pending begins. */
  #start = 1;

  /** The part of a statement that was entered; "" between statements. */
  get pending(): string {
    return this.#pending;
  }

  /** Takes a line. @returns what it completes. */
  take(line: string): Entry[] {
    this.#line++;
    if (this.#pending === "") this.#start = this.#line;
    if (this.#pending === "" && line.trimStart().startsWith("."))
      return [{ kind: "command", text: line.trim(), line: this.#line, written: line }];
    const written = `${this.#pending}${line}\n`;
    const { statements, rest } = splitStatements(written);
    const start = this.#start;
    this.#pending = rest === undefined ? "" : statements.length === 0 ? written : `${rest.sql}\n`;
    if (rest !== undefined) this.#start = start + (statements.length === 0 ? 0 : rest.line - 1);
    return statements.map(({ sql, line: at }, index) => ({
      kind: "statement",
      text: sql,
      line: start + at - 1,
      written: index === 0 && /^[ \t]/.test(written) ? ` ${sql};` : `${sql};`,
    }));
  }

  /** Takes what is pending as a statement, at the end of all lines: also where a quote of it is open. */
  end(): Entry[] {
    const { rest } = splitStatements(this.#pending);
    const line = this.#start + (rest?.line ?? 1) - 1;
    this.clear();
    return rest === undefined ? [] : [{ kind: "statement", text: rest.sql, line, written: rest.sql }];
  }

  /** Drops what is pending. */
  clear(): void {
    this.#pending = "";
  }
}
