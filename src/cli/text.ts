import { createRequire } from "node:module";
import { styleText } from "node:util";

type Colour = "red" | "green" | "yellow" | "cyan" | "dim" | "bold";

/** Colours a text if the terminal shows colours. */
export function paint(colour: Colour, text: string): string {
  const colours = process.stdout.isTTY && process.stderr.isTTY && process.env.NO_COLOR === undefined;
  return colours ? styleText(colour, text) : text;
}

/** A whole number with separators: 1,234,567. The first use of the platform's own way takes 10 ms. */
export function count(n: number): string {
  return BigInt(Math.round(n))
    .toString()
    .replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** A size in bytes with a fitting unit: 12.3 MB. */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

/** A duration: 840 ms, 12.3 s, 4 min 05 s. A negative one comes from a clock that was set back, and is unknown. */
export function duration(ms: number): string {
  if (ms < 0) return "an unknown time (the clock was set back)";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** A count with its noun: 1 request, 2 requests. */
export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export type Cell = string | number | bigint | boolean | null | undefined;

/** A plain table; numbers are aligned right. Wide characters take two columns, as on terminals. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  // Loaded with the first table: nearly every command imports this file, and few print tables.
  const Table = createRequire(import.meta.url)("cli-table3") as typeof import("cli-table3");
  const right = head.map((_, i) => rows.length > 0 && rows.every((row) => isNumber(row[i])));
  const grid = new Table({
    head: head.map((name) => paint("bold", name)),
    colAligns: right.map((isRight) => (isRight ? "right" : "left")),
    style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 2 },
    chars: Object.fromEntries(
      ["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"]
        .concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid", "middle"])
        .map((name) => [name, ""]),
    ),
  });
  for (const row of rows)
    grid.push(row.map((cell) => (cell === null || cell === undefined ? paint("dim", "·") : String(cell))));
  return grid
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Whether a cell is a number, or a text of {@link count} and similar functions; a missing value counts, too. */
function isNumber(cell: Cell): boolean {
  if (cell === null || cell === undefined || typeof cell === "number" || typeof cell === "bigint")
    return true;
  return typeof cell === "string" && /^-?[\d,]+(\.\d+)?( ?[kMGT]?B|%)?$/.test(cell);
}

/** Width of the terminal of standard output in columns; undefined if there is no terminal, or it does not report it. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined;
}
