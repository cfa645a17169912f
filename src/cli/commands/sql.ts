import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { Option } from "commander";
import { QueryError, UsageError } from "../../core/errors.js";
import { userFolder } from "../../core/user-folder.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { isQueryText } from "../../db/reads/undo-changes.js";
import { interruptOn, TRACK_PROGRESS } from "../../db/session/session.js";
import { allStatements, readsCatalog } from "../../db/sql-tokens.js";
import { hasUserViews, type Lake } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { openReader, type Reader } from "../../lake/open-reader.js";
import { expectSame, giveUpCopies } from "../../lake/sql-copy/attach-sql-copy.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import { type Cli, EXIT, endAtOnce } from "../cli.js";
import { StatementError, symbolAdvice } from "../error-text.js";
import type { FoundNotebook } from "../notebook/find-notebook.js";
import { type NotebookOptions, notebookOptions, shippedText } from "../notebook/notebook-options.js";
import { type CommonOptions, lakeOption, openExistingLake, reportMovedLake } from "../options/lake-option.js";
import {
  knownAtOptions,
  type PointInTimeOptions,
  pointInTimeOf,
  pointInTimeOptions,
  wholeNumber,
} from "../options/options.js";
import { type TrinoOptions, trinoOptions } from "../options/trino-options.js";
import { resultTable, TABLE_MODES, type TableMode } from "../results/result-table.js";
import {
  formatOfOutput,
  formatOption,
  type ResultFormat,
  replaceFile,
  writeResult,
} from "../results/write-result.js";
import { lakePlace, readFirstRows, type SqlPlace } from "../shell/sql-place.js";
import { count, duration, paint, plural, size, terminalWidth } from "../text.js";

interface Options extends CommonOptions, PointInTimeOptions, NotebookOptions, TrinoOptions {
  readonly engine: "duckdb" | "trino";
  readonly format?: ResultFormat;
  readonly output?: string;
  readonly file?: string;
  readonly limit?: number;
  readonly mode: TableMode;
  readonly verify: boolean;
  readonly init?: string | false;
  readonly watch?: boolean;
}

/** Formats whose pieces go to the standard output as they are computed. */
const PRINTED_IN_PIECES: ReadonlySet<ResultFormat> = new Set(["arrow", "markdown", "xlsx"]);

export function addSql(cli: Cli): void {
  const [html, param] = notebookOptions();
  const command = cli.program
    .command("sql")
    .argument("[query]", "SQL, as DuckDB understands it, or Trino")
    .option("-f, --file <file>", "a file of SQL instead, or a notebook; - reads standard input")
    .addOptions(html, param, formatOption())
    .option("-o, --output <file>", "write the result to a file, which is replaced once it is whole")
    .option("--watch", "with -f: run again when the file or the lake changes, until Ctrl-C")
    .option("--init <file>", "statements and commands that the shell runs first")
    .option("--no-init", "do not run shell.sql of your settings (~/.config/barlake) when a shell begins")
    .option("--limit <n>", "rows that a table shows (default: 40)", wholeNumber)
    .addOption(
      new Option("--mode <mode>", "of a table: columns that fit, all, or a line for each value")
        .choices(TABLE_MODES)
        .default("table"),
    )
    .option(
      "--no-verify",
      "do not compare the files that are read with the hashes in their names (1 GB takes about a second)",
    )
    .addOptions(...pointInTimeOptions(), ...knownAtOptions(), lakeOption())
    .addOption(
      new Option("--engine <engine>", "what runs the SQL: DuckDB here, or a Trino that has the lake's tables")
        .choices(["duckdb", "trino"])
        .default("duckdb"),
    );
  for (const option of trinoOptions()) command.addOption(option);
  command
    .notes(
      () => `
Views: bars_1d, bars_1m, instruments, universes, universe_members, exchanges, balance_sheet, cash_flow,
income, metrics, shares, corporate_actions, ex_factors, daily_fundamentals, daily_metrics, daily_valuation, returns, daily_status, requests, rejects, and more:
docs/sql.md; every version ever landed under raw. Macros: bars('5m'), adjusted('1d', 'forward', as_of := DATE), statements_asof(DATE), members('id', DATE).

Notebooks that come with it, by name (docs/notebooks.md shows how to write one):
${shippedText()}

Examples:
  barlake sql "from daily_fundamentals where symbol = '600519.SH' order by trade_date desc limit 5"
  barlake sql "from bars_1d" -o bars.parquet                   or .xlsx, .csv, .json, .arrow, .arrows, .md
  barlake sql "from bars_1d" --format arrow | python -c "import sys, polars; print(polars.read_ipc_stream(sys.stdin.buffer))"
  barlake sql -f report.sql --format csv
  barlake sql -f instrument --param symbol=600519.SH --html page.html
  barlake sql -f mine.sql --html page.html --watch             write it again when the file or the lake changes
  barlake sql "from bars_1d" --as-of 2026-11-01T00:00:00Z      the rows that the lake had then
  barlake sql "from daily_valuation" --known-at 2026-06-30     what was known at the end of that day
  barlake sql                                                  a shell: Tab completes, .help there
  barlake sql --engine trino --server http://trino:8080/lake/barlake "select count(*) from bars_1m"`,
    )
    .does(async (query: string | undefined, options: Options) => {
      expectFitting(query, options);
      using _ = isObjectUrl(options.lake) ? endWhereStuck(cli.signal) : undefined;
      const { file, watch } = options;
      if (!watch || file === undefined) return await runSql(query, options, cli.signal);
      const { findSqlFile } = await import("../notebook/find-notebook.js");
      const { watchSql } = await import("../notebook/watch-sql.js");
      const { path } = await findSqlFile(file);
      const isPast = options.asOf !== undefined || options.version !== undefined;
      const lake = isPast ? undefined : await openExistingLake(options);
      await watchSql({ path, lake, signal: cli.signal }, () => runSql(query, options, cli.signal));
      return EXIT.done;
    });
}

/** Runs the query, the file or a shell. @returns the exit code. */
async function runSql(query: string | undefined, options: Options, signal: AbortSignal): Promise<number> {
  const found = await foundIn(options);
  const isNotebook = found !== undefined && isShownAsNotebook(found, options);
  const sql = isNotebook ? undefined : await sqlOf(found?.text ?? query, options);
  const lake = options.engine === "trino" ? undefined : await openExistingLake(options);
  if (lake !== undefined && sql !== undefined && (await wasRunAlone(lake, sql, options, signal)))
    return EXIT.done;
  await using opened = lake === undefined ? await openTrino(options) : await openDuckDB(lake, options);
  const { place, snapshots } = opened;
  using _ = interruptOn(place.engine, signal);
  if (isNotebook) {
    const { limit = NOTEBOOK_ROWS } = options;
    const { engine, progress } = place;
    const { showNotebook } = await import("../notebook/show-notebook.js");
    const shown = { engine, progress, snapshots, pointInTime: pointInTimeOf(options), limit, signal };
    return await showNotebook(found.notebook, options, shown);
  }
  await run(place, sql, options, signal).catch(async (error: unknown) => {
    throw error instanceof QueryError ? await place.withProposals(error) : error;
  });
  return EXIT.done;
}

/** Milliseconds after Ctrl-C for which a statement may take to end. */
const ENDING_MS = 3000;

/**
 * Ends the process some seconds after the signal aborts: DuckDB takes no interrupt while it waits for a store, up to
 * two minutes for one that does not respond. The statement changes nothing in the lake.
 */
function endWhereStuck(signal: AbortSignal): Disposable {
  let ending: NodeJS.Timeout | undefined;
  const begin = (): void => {
    ending = setTimeout(() => endAtOnce("SIGINT"), ENDING_MS);
  };
  signal.addEventListener("abort", begin, { once: true });
  return {
    [Symbol.dispose]() {
      signal.removeEventListener("abort", begin);
      clearTimeout(ending);
    },
  };
}

/**
 * Runs a single statement with only the views that it mentions, which takes less than half of the time. Whether a name
 * is missing, or a view of the user's, only the statement's failure shows.
 *
 * @returns false where the statement needs all views; it has changed nothing then.
 */
async function wasRunAlone(lake: Lake, sql: string, options: Options, signal: AbortSignal): Promise<boolean> {
  if (readsCatalog(sql) || hasUserViews(lake) || allStatements(sql).length !== 1) return false;
  await using opened = await openDuckDB(lake, options, sql);
  const { copies } = opened;
  using _ = interruptOn(opened.place.engine, signal);
  try {
    await run(opened.place, sql, options, signal);
    expectSame(copies);
    return true;
  } catch (error) {
    const cause = error instanceof StatementError ? error.cause : error;
    const isGivenUp = giveUpCopies(copies, cause).length > 0;
    if (isGivenUp && isQueryText(sql) && cause instanceof QueryError && !isPrintedInPieces(options))
      return false;
    if (cause instanceof QueryError && /^(?:Catalog|Binder) Error/.test(cause.message)) return false;
    throw error;
  }
}

/** Whether rows are printed before all are computed: after a failure they cannot be printed again. */
function isPrintedInPieces({ format, output }: Options): boolean {
  return output === undefined && format !== undefined && PRINTED_IN_PIECES.has(format);
}

/** @throws {UsageError} for options that do not fit one another. */
function expectFitting(query: string | undefined, { watch, init, file, engine }: Options): void {
  if (watch && (file === undefined || file === "-"))
    throw new UsageError("--watch is for a file", { hint: "name it with -f" });
  if (watch && engine === "trino")
    throw new UsageError("--watch is for DuckDB", { hint: "leave out --engine or --watch" });
  if (typeof init === "string" && (query !== undefined || file !== undefined))
    throw new UsageError("--init is for a shell", { hint: "leave out the query, or -f" });
}

interface OpenedPlace extends AsyncDisposable {
  readonly place: SqlPlace;
  /** The versions of the tables; none where the engine chooses them. */
  readonly snapshots: readonly Snapshot[];
  readonly copies: Reader["copies"];
}

/** @param statement needs only what it mentions. @default all views */
async function openDuckDB(lake: Lake, options: Options, statement?: string): Promise<OpenedPlace> {
  const reader = await openReader(
    lake,
    {
      verify: options.verify,
      ...(statement === undefined ? {} : { statement, copies: lake.segmentPlace() }),
    },
    pointInTimeOf(options),
  );
  const { session, snapshots, copies } = reader;
  await reportMovedLake(lake, session);
  for (const sql of TRACK_PROGRESS) await session.run(sql);
  return {
    place: lakePlace(session, lake),
    snapshots,
    copies,
    [Symbol.asyncDispose]: async () => reader[Symbol.dispose](),
  };
}

/** @throws {UsageError} for options that only DuckDB knows. */
async function openTrino(options: Options): Promise<OpenedPlace> {
  if (options.knownAt !== undefined)
    throw new UsageError("--known-at is for DuckDB", { hint: "leave out --engine trino" });
  if (options.asOf !== undefined || options.version !== undefined) {
    throw new UsageError("--as-of and --version are for DuckDB", {
      hint: "in Trino, write FROM barlake_raw.bars_1d FOR VERSION AS OF 12",
    });
  }
  const { openTrinoPlace } = await import("../shell/trino-place.js");
  const { place, close } = await openTrinoPlace(options);
  return { place, snapshots: [], copies: [], [Symbol.asyncDispose]: close };
}

const NOTEBOOK_ROWS = 40;

/** @throws {UsageError} for options that do not fit a notebook, or fit only a notebook. */
async function foundIn(options: Options): Promise<FoundNotebook | undefined> {
  const { file, html, param, format, output } = options;
  const found =
    file === undefined || file === "-"
      ? undefined
      : await (await import("../notebook/find-notebook.js")).findNotebook(file);
  if (found === undefined && (html !== undefined || param !== undefined))
    throw new UsageError("--html and --param are for notebooks", { hint: "name one with -f" });
  if (found !== undefined && isShownAsNotebook(found, options) && (format ?? output) !== undefined) {
    throw new UsageError("a notebook has many results: --format and -o are for one", {
      hint: "leave them out, or write a page with --html FILE",
    });
  }
  return found;
}

/** A file of plain SQL counts as a notebook only if a page or a parameter is requested. */
function isShownAsNotebook({ notebook }: FoundNotebook, { html, param }: NotebookOptions): boolean {
  return !notebook.isPlain || html !== undefined || param !== undefined;
}

async function run(
  place: SqlPlace,
  sql: string | undefined,
  options: Options,
  signal: AbortSignal,
): Promise<void> {
  const { output, mode, limit, format = output === undefined ? undefined : formatOfOutput(output) } = options;
  if (sql !== undefined) return runStatements(place, sql, { output, mode, limit, format, signal });
  const { runShell } = await import("../shell/run-shell.js");
  const historyFile = join(userFolder("state", process.env), "sql_history");
  const settings = { mode, limit, timing: true };
  await runShell(place, { settings, historyFile, init: options.init, signal });
}

/** The SQL to run; undefined: start a shell, also for piped input unless its result has a format or a file. */
async function sqlOf(
  given: string | undefined,
  { file, format, output }: Options,
): Promise<string | undefined> {
  const isWholeInput = file === "-" || (given === undefined && !process.stdin.isTTY && (format ?? output));
  return isWholeInput ? text(process.stdin) : given;
}

interface StatementsOptions {
  /** @default a table; in a file, CSV */
  readonly format?: ResultFormat | undefined;
  /** @default standard output */
  readonly output?: string | undefined;
  readonly mode: TableMode;
  /** Rows of a table. @default 40 */
  readonly limit?: number | undefined;
  /** No further statement begins once it aborts. */
  readonly signal?: AbortSignal | undefined;
}

const ROWS = 40;

/**
 * Runs statements one after another. As tables, all results are shown; in another format, only the last one is written.
 *
 * @throws {StatementError} for the first failure.
 */
async function runStatements(place: SqlPlace, sql: string, options: StatementsOptions): Promise<void> {
  const { engine, progress } = place;
  const { output, format = output === undefined ? "table" : "csv" } = options;
  const statements = allStatements(sql);
  const startedAt = performance.now();
  for (const [index, statement] of statements.entries()) {
    options.signal?.throwIfAborted();
    const isLast = index === statements.length - 1;
    const work = (): Promise<unknown> => {
      if (format !== "table")
        return isLast
          ? writeResult(place, { sql: statement.sql, format, file: output })
          : progress.during(() => engine.run(statement.sql));
      if (output === undefined) return show(place, statement.sql, options);
      return progress.during(() =>
        isLast ? writeTable(engine, statement.sql, output, options) : engine.run(statement.sql),
      );
    };
    await work().catch((error: unknown) => {
      if (!(error instanceof QueryError)) throw error;
      throw new StatementError(error, statement.line);
    });
  }
  if (output !== undefined && process.stderr.isTTY) await reportWritten(output, startedAt);
}

/** Reports what was written, if it is a file. */
async function reportWritten(file: string, startedAt: number): Promise<void> {
  const written = await stat(file);
  if (!written.isFile()) return;
  const elapsed = duration(performance.now() - startedAt);
  process.stderr.write(`${paint("dim", `${size(written.size)} in ${file} · ${elapsed}`)}\n`);
}

/** Prints a result's first rows, and the number of its rows. */
async function show(
  { engine, progress }: SqlPlace,
  sql: string,
  { mode, limit = ROWS }: StatementsOptions,
): Promise<void> {
  const startedAt = performance.now();
  const { reader, rows, hasMore } = await progress.during(() => readFirstRows(engine, sql, () => limit));
  const elapsed = duration(performance.now() - startedAt);
  const width = terminalWidth();
  const advice = "--mode lines or --mode wide shows all";
  if (reader.kind === "rows")
    process.stdout.write(`${resultTable(reader.columns, rows, { mode, width, advice })}\n`);
  const summary =
    reader.kind === "nothing"
      ? "done"
      : reader.kind === "changes"
        ? `${plural(Number(rows[0]?.[0] ?? 0), "row")} changed`
        : hasMore
          ? `the first ${count(rows.length)} rows; --limit shows more`
          : plural(rows.length, "row");
  process.stdout.write(`${paint("dim", `${summary} · ${elapsed}`)}\n`);
  const hint = rows.length === 0 ? symbolAdvice(sql) : undefined;
  if (hint !== undefined) process.stderr.write(`${paint("dim", "hint:")}  ${hint}\n`);
}

/** Writes a result's first rows to a file, as a table of unlimited width. */
async function writeTable(
  engine: QueryEngine,
  sql: string,
  file: string,
  { mode, limit = ROWS }: StatementsOptions,
): Promise<void> {
  const { reader, rows, hasMore } = await readFirstRows(engine, sql, () => limit);
  const table = resultTable(reader.columns, rows, { mode, advice: "" });
  const more = hasMore ? `the first ${count(rows.length)} rows\n` : "";
  await replaceFile(file, (path) => writeFile(path, `${stripVTControlCharacters(table)}\n${more}`));
}
