import { createReadStream } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { pipeline } from "node:stream/promises";
import { Option } from "commander";
import { messageOf, UsageError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { openReader } from "../../lake/publish.js";
import type { Cli } from "../cli.js";
import { EXIT } from "../exit-codes.js";
import { type CommonOptions, lakeOption, openLake } from "../lake-option.js";
import { type MomentOptions, momentOf, momentOptions } from "../moment-option.js";
import { type Cell, count, duration, paint, table } from "../text.js";

type Format = "table" | "csv" | "json" | "parquet";

interface Options extends CommonOptions, MomentOptions {
  readonly format: Format;
  readonly output?: string;
  readonly file?: string;
  readonly limit: string;
}

/** How DuckDB writes each format. */
const COPY_OPTIONS: Readonly<Record<Exclude<Format, "table">, string>> = {
  csv: "FORMAT csv, HEADER true",
  json: "FORMAT json",
  parquet: "FORMAT parquet, COMPRESSION zstd",
};

export function addSql(cli: Cli): void {
  const [asOf, version] = momentOptions();
  cli.program
    .command("sql")
    .description("query the lake; without a query, a shell")
    .argument("[query]", "SQL, as DuckDB understands it")
    .option("-f, --file <file>", "a file of SQL instead")
    .addOption(
      new Option("--format <format>", "of the result")
        .choices(["table", "csv", "json", "parquet"])
        .default("table"),
    )
    .option("-o, --output <file>", "write the result to a file")
    .option("--limit <n>", "rows that a table shows", "40")
    .addOption(asOf)
    .addOption(version)
    .addOption(lakeOption())
    .addHelpText(
      "after",
      `
Views: bars_1d, bars_1m, instruments, universes, universe_members, exchanges, balance_sheet, cash_flow,
daily_fundamentals, daily_valuation, returns, daily_status, requests, rejects, and more: docs/sql.md; every version ever
landed under raw. Macros: bars('5m'), adjusted('1d', 'forward', as_of := DATE), statements_asof(DATE), members('id', DATE).

Examples:
  barlake sql "from daily_fundamentals where symbol = '600519.SH' order by trade_date desc limit 5"
  barlake sql "from bars_1d" --format parquet -o bars.parquet
  barlake sql -f report.sql --format csv
  barlake sql "from bars_1d" --as-of 2026-11-01T00:00:00Z      the lake as it stood then
  barlake sql                                 a shell; .help there`,
    )
    .action((query: string | undefined, options: Options) =>
      cli.action(async () => {
        const lake = openLake(options);
        const { session } = await openReader(lake, {}, momentOf(options));
        using reader = session;
        cli.signal.addEventListener("abort", () => reader.interrupt());
        const sql = options.file ? await readFile(options.file, "utf8") : query;
        if (sql === undefined) await shell(reader, Number(options.limit), cli.signal);
        else if (options.format === "table" && !options.output)
          await show(reader, sql, Number(options.limit));
        else await copyOut(reader, lake, sql, options);
        return EXIT.done;
      }),
    );
}

/** Prints a result as a table. */
async function show(session: Session, sql: string, limit: number): Promise<void> {
  const startedAt = performance.now();
  const { names, rows, more } = await session.preview(sql, limit);
  const elapsed = duration(performance.now() - startedAt);
  if (names.length > 0)
    process.stdout.write(
      `${table(
        names,
        rows.map((row) => row.map(cellOf)),
      )}\n`,
    );
  const shown = more
    ? `the first ${count(rows.length)} rows; --limit shows more`
    : `${count(rows.length)} row${rows.length === 1 ? "" : "s"}`;
  process.stdout.write(`${paint("dim", `${shown} · ${elapsed}`)}\n`);
}

function cellOf(value: unknown): Cell {
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value as Cell;
}

/** Writes a result of any size; through a file, as DuckDB writes faster than a row at a time. */
async function copyOut(session: Session, lake: Lake, sql: string, options: Options): Promise<void> {
  if (options.format === "parquet" && !options.output) {
    throw new UsageError("a Parquet file cannot be printed", { hint: "give it a name with -o FILE" });
  }
  const format = options.format === "table" ? "csv" : options.format;
  const target = options.output ?? (await lake.storage.stagingFile(format));
  try {
    await session.run(
      `COPY (${sql.trim().replace(/;\s*$/, "")}) TO ${literal(target)} (${COPY_OPTIONS[format]})`,
    );
    if (!options.output) await pipeline(createReadStream(target), process.stdout, { end: false });
  } finally {
    if (!options.output) await rm(target, { force: true });
  }
}

const SHELL_HELP = `SQL ends with a semicolon and may span lines.
  .tables            tables and views
  .describe NAME     columns of one, with their comments
  .quit              leave (or Ctrl-D)
`;

async function shell(session: Session, limit: number, signal: AbortSignal): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: process.stdin.isTTY,
    signal,
  });
  if (process.stdin.isTTY) process.stdout.write('Enter SQL, ending with ";". .help for help.\n');
  let pending = "";
  const prompt = (): void => {
    lines.setPrompt(pending === "" ? "barlake> " : "    ...> ");
    if (process.stdin.isTTY) lines.prompt();
  };
  prompt();
  for await (const line of lines) {
    const command = pending === "" ? line.trim() : "";
    if (command === ".quit" || command === ".exit") break;
    pending = command.startsWith(".") ? "" : `${pending}${line}\n`;
    if (command.startsWith(".") || pending.trimEnd().endsWith(";")) {
      const sql = command.startsWith(".") ? dotCommand(command) : pending;
      pending = "";
      if (sql !== undefined)
        await show(session, sql, limit).catch((error: unknown) =>
          process.stdout.write(`${paint("red", "error:")} ${messageOf(error)}\n`),
        );
    }
    prompt();
  }
  if (pending.trim() !== "") await show(session, pending, limit);
}

/** The query that a shell's command stands for; undefined where it is answered already. */
function dotCommand(command: string): string | undefined {
  const [name, argument = ""] = command.split(/\s+/, 2);
  if (name === ".tables") {
    return "SELECT schema_name || '.' || view_name AS name, comment FROM duckdb_views() WHERE NOT internal ORDER BY schema_name, view_name";
  }
  if (name === ".describe") {
    return `SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = ${literal(argument)} OR schema_name || '.' || table_name = ${literal(argument)} ORDER BY schema_name, column_index`;
  }
  process.stdout.write(
    name === ".help" ? SHELL_HELP : `${ident(name ?? "")} is no command; .help lists them\n`,
  );
  return undefined;
}
