import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { messageOf, UsageError } from "../../core/errors.js";
import type { Catalog } from "../../db/catalog.js";
import type { PlainValue, ResultColumn, RowReader } from "../../db/result/row-reader.js";
import { type ChartWish, chartOfResult } from "../charts/chart-of-result.js";
import { symbolAdvice } from "../error-text.js";
import { resultTable, type TableMode } from "../results/result-table.js";
import { formatOfFile, type ResultFormat, writeResult } from "../results/write-result.js";
import { count, duration, paint, plural, terminalWidth } from "../text.js";
import { readFirstRows, type SqlPlace } from "./sql-place.js";

export interface ShellSettings {
  mode: TableMode;
  /** Rows shown at a time; undefined: as many as fit the terminal. */
  limit: number | undefined;
  timing: boolean;
}

/** An output for results in addition to the terminal. */
type Output =
  | { readonly kind: "text"; readonly file: string; readonly stream: WriteStream }
  | { readonly kind: "next"; readonly file: string; readonly format: Exclude<ResultFormat, "table"> };

interface LastResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: PlainValue[][];
  shown: number;
  /** Reads its remaining rows; undefined once another statement has run. */
  reader: RowReader | undefined;
}

const CHARTED_ROWS = 20_000;
/** Rows shown at a time if no terminal gives the number. */
const ROWS_AT_ONCE = 40;
/** Lines of a terminal that are not rows of a result: header, messages below it, and the prompt. */
const OTHER_LINES = 5;
const SMALLEST = { rows: 10, width: 40 };

export class ShellSession {
  readonly settings: ShellSettings;
  readonly #place: SqlPlace;
  readonly #isInteractive: boolean;
  #last: LastResult | undefined;
  #output: Output | undefined;
  #catalog: Catalog | undefined;

  constructor(
    place: SqlPlace,
    options: { readonly settings: ShellSettings; readonly isInteractive: boolean },
  ) {
    this.#place = place;
    this.settings = options.settings;
    this.#isInteractive = options.isInteractive;
  }

  async runStatement(sql: string): Promise<void> {
    const startedAt = performance.now();
    if (this.#last !== undefined) this.#last.reader = undefined;
    if (this.#output?.kind === "next") {
      const { file, format } = this.#output;
      this.#output = undefined;
      await writeResult(this.#place, { sql, format, file });
      this.say(`wrote ${file}`, startedAt);
      return;
    }
    const { engine, progress } = this.#place;
    const { reader, rows, hasMore } = await progress.during(() =>
      readFirstRows(engine, sql, (columns) => this.#pageRows(columns)),
    );
    if (reader.kind !== "rows") this.#catalog = undefined;
    if (reader.kind === "nothing") return this.say("done", startedAt);
    if (reader.kind === "changes")
      return this.say(`${plural(Number(rows[0]?.[0] ?? 0), "row")} changed`, startedAt);
    this.#last = { columns: reader.columns, rows, shown: rows.length, reader };
    this.#show(reader.columns, rows);
    this.say(
      hasMore ? `the first ${plural(rows.length, "row")}${this.#moreHint}` : plural(rows.length, "row"),
      startedAt,
    );
    const advice = rows.length === 0 ? symbolAdvice(sql) : undefined;
    if (advice !== undefined) this.say(advice);
  }

  async hasMore(): Promise<boolean> {
    const last = this.#last;
    if (last === undefined) return false;
    return last.shown < last.rows.length || (await last.reader?.hasMore()) === true;
  }

  /** Shows the next rows of the newest result. */
  async more(): Promise<void> {
    const last = this.#last;
    if (last === undefined || !(await this.hasMore())) return this.say("there are no more rows");
    const startedAt = performance.now();
    const from = last.shown;
    const to = from + this.#pageRows(last.columns.length);
    await this.#takeUpTo(last, to);
    const rows = last.rows.slice(from, to);
    last.shown += rows.length;
    this.#show(last.columns, rows);
    const range = `rows ${count(from + 1)} to ${count(last.shown)}`;
    this.say((await this.hasMore()) ? `${range}${this.#moreHint}` : `${range}, the last`, startedAt);
  }

  async #takeUpTo({ rows, reader }: LastResult, most: number): Promise<void> {
    if (reader === undefined || rows.length >= most) return;
    const next = await reader.take(most - rows.length);
    try {
      await this.#place.engine.checkReads();
    } catch (error) {
      // Rows of the damaged file may be in memory already: no further page is shown.
      this.#last = undefined;
      throw error;
    }
    rows.push(...next);
  }

  async chart(wish: ChartWish): Promise<void> {
    const last = this.#last;
    if (last === undefined) {
      throw new UsageError("there is no result to draw", { hint: "run a query, then .chart" });
    }
    await this.#takeUpTo(last, CHARTED_ROWS);
    const width = Math.max(SMALLEST.width, Math.min(this.width ?? 100, 160));
    this.print(chartOfResult(last, wish, width));
    if ((await last.reader?.hasMore()) === true) this.say(`of the first ${count(CHARTED_ROWS)} rows`);
  }

  get lastColumns(): readonly string[] {
    return this.#last?.columns.map(({ name }) => name) ?? [];
  }

  /** The names that SQL currently knows. A running statement is not disturbed. */
  async catalog(): Promise<Catalog> {
    this.#catalog ??= await this.#place.catalog();
    return this.#catalog;
  }

  /** Sends results to a file; undefined: to the terminal again. */
  async redirect(file: string | undefined): Promise<void> {
    await this.close();
    if (file === undefined) return;
    const format = formatOfFile(file) ?? "table";
    if (format !== "table") {
      this.#output = { kind: "next", file, format };
      return this.say(`the next result goes to ${file}, whole, as ${format}`);
    }
    const stream = createWriteStream(file);
    await once(stream, "open").catch((cause: unknown) => {
      throw new UsageError(`file ${file}: cannot be written: ${messageOf(cause)}`, { cause });
    });
    stream.on("error", ({ message }) => {
      if (this.#output?.kind === "text" && this.#output.stream === stream) this.#output = undefined;
      process.stderr.write(`${paint("red", "error:")} file ${file}: cannot be written: ${message}\n`);
    });
    this.say(`results go to ${file}, until .output off`);
    this.#output = { kind: "text", file, stream };
  }

  async close(): Promise<void> {
    const output = this.#output;
    this.#output = undefined;
    if (output?.kind !== "text") return;
    output.stream.end();
    await once(output.stream, "close");
  }

  print(text: string): void {
    if (this.#output?.kind === "text") this.#output.stream.write(`${stripVTControlCharacters(text)}\n`);
    else process.stdout.write(`${text}\n`);
  }

  /** Prints a message, and the elapsed time if timing is on. */
  say(text: string, startedAt?: number): void {
    const time =
      startedAt === undefined || !this.settings.timing ? "" : ` · ${duration(performance.now() - startedAt)}`;
    this.print(paint("dim", `${text}${time}`));
  }

  /** Columns of the terminal; undefined if results do not go to a terminal. */
  get width(): number | undefined {
    return this.#output?.kind === "text" ? undefined : terminalWidth();
  }

  #show(columns: readonly ResultColumn[], rows: readonly (readonly PlainValue[])[]): void {
    const isPlan = columns.map(({ name }) => name).join() === "explain_key,explain_value";
    if (isPlan) return this.print(rows.map((row) => (row[1] as string).trimEnd()).join("\n"));
    const advice = ".mode lines or .mode wide shows all";
    this.print(resultTable(columns, rows, { mode: this.settings.mode, width: this.width, advice }));
  }

  #pageRows(columns: number): number {
    if (this.settings.limit !== undefined) return this.settings.limit;
    if (!this.#isInteractive || !process.stdout.isTTY) return ROWS_AT_ONCE;
    const lines = this.settings.mode === "lines" ? columns + 1 : 1;
    const least = lines > 1 ? 1 : SMALLEST.rows;
    return Math.max(least, Math.floor((process.stdout.rows - OTHER_LINES) / lines));
  }

  get #moreHint(): string {
    return this.#isInteractive ? "; Enter shows more" : "; .limit shows more";
  }
}
