import type { Issue, IssueRule } from "../../../src/core/issue.js";
import { isSymbol } from "../../../src/market/symbol.js";
import type { KlineExpectation } from "../../../src/wire/decode/kline-sink.js";
import { OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../../../src/wire/kline-columns.js";
import type { PlainBar } from "../any-kline-columns.js";
import { depthOf, type JsonTree, jsonTree } from "./json/json-tokens.js";

/** A decoded response in plain values. */
export interface SlowResponse {
  readonly bars: Readonly<Record<string, readonly PlainBar[]>>;
  readonly symbols: readonly string[];
  readonly absent: readonly string[];
  readonly unusable: readonly string[];
  readonly received: Readonly<Record<string, number>>;
  /** Without messages; sorted. */
  readonly issues: readonly string[];
}

type Expectation = Pick<KlineExpectation, "shape" | "symbols" | "window">;
type Reported = Omit<Issue, "message">;
type Cell = number | bigint | undefined | Defect;

class Defect {
  readonly rule: IssueRule;
  readonly at: number;

  constructor(rule: IssueRule, at: number) {
    this.rule = rule;
    this.at = at;
  }
}

const EARLIEST = Date.UTC(1900, 0, 1);
const LATEST = Date.UTC(2200, 0, 1);

/** An issue as text, so that lists can be compared in any order. */
export function issueText({ rule, symbol, column, index, byteOffset, rejected }: Reported): string {
  return JSON.stringify([rule, symbol?.slice(0, 64), column, index, byteOffset, rejected]);
}

/**
 * What a K-line document means, read with JSON.parse and plain objects: the slow and simple way.
 *
 * @returns "refused" where it must end with an error.
 */
export function slowKlines(bytes: Uint8Array, expectation: Expectation): SlowResponse | "refused" {
  let root: JsonTree;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    JSON.parse(text);
    root = jsonTree(text);
  } catch {
    return "refused";
  }
  if (root.kind !== "object" || depthOf(root) > 64) return "refused";
  if (repeats(root.members.map(({ key }) => key))) return "refused";
  const data = root.members.find(({ key }) => key === "data")?.value;
  if (data?.kind !== "object") return "refused";
  const issues: Reported[] = [];
  const taken: { symbol: string; received: number; bars?: PlainBar[] }[] = [];
  const { shape, symbols: asked = [] } = expectation;
  const entries =
    shape === "map" ? data.members : [{ key: asked[0] ?? "", keyAt: data.at, value: data as JsonTree }];
  if (shape === "map" && repeats(entries.map(({ key }) => key))) return "refused";
  for (const { key: symbol, keyAt, value } of entries) {
    if (value.kind !== "object") {
      issues.push({ rule: "wrong_type", symbol, byteOffset: value.at, rejected: 0 });
      continue;
    }
    if (shape === "map" && !isSymbol(symbol)) {
      issues.push({ rule: "bad_symbol", symbol, byteOffset: keyAt, rejected: 0 });
      continue;
    }
    if (expectation.symbols && !asked.includes(symbol)) {
      issues.push({ rule: "not_requested", symbol, byteOffset: keyAt, rejected: 0 });
      continue;
    }
    if (repeats(value.members.map(({ key }) => key).filter((key) => WIRE_COLUMNS.includes(key))))
      return "refused";
    taken.push({ symbol, ...slowSymbol(symbol, value, expectation, issues) });
  }
  const good = taken.filter(({ bars }) => bars !== undefined);
  const named = shape === "map" ? entries.map(({ key }) => key) : [asked[0] ?? ""];
  const symbols = good.map(({ symbol }) => symbol);
  const received = Object.fromEntries(taken.map((one) => [one.symbol, one.received]));
  const unusable = asked.filter((symbol) => named.includes(symbol) && !symbols.includes(symbol));
  return {
    bars: Object.fromEntries(good.map(({ symbol, bars = [] }) => [symbol, bars])),
    symbols,
    received,
    unusable,
    absent: asked.filter((symbol) => !received[symbol] && !unusable.includes(symbol)),
    issues: issues.map(issueText).sort(),
  };
}

function slowSymbol(
  symbol: string,
  data: JsonTree & { kind: "object" },
  { window }: Expectation,
  issues: Reported[],
): { received: number; bars?: PlainBar[] } {
  const columns = new Map<string, { cells: Cell[]; keyAt: number }>();
  let failed: IssueRule | undefined;
  const fail = (rule: IssueRule, column: string, byteOffset: number): void => {
    failed ??= rule;
    issues.push({ rule, symbol, column, byteOffset, rejected: 0 });
  };
  const bad = new Set<number>();
  const keys = new Set(data.members.map(({ key }) => key));
  for (const { key: column, keyAt, value } of data.members) {
    if (!WIRE_COLUMNS.includes(column)) continue;
    if (value.kind !== "array") {
      if (value.kind !== "null" || !OPTIONAL_COLUMNS.has(column)) fail("wrong_type", column, value.at);
      continue;
    }
    const cells = value.items.map((item) => cellOf(column, item));
    columns.set(column, { cells, keyAt });
    for (const [index, cell] of cells.entries()) {
      if (!(cell instanceof Defect)) continue;
      if (cell.rule === "out_of_range" && OPTIONAL_COLUMNS.has(column)) {
        issues.push({ rule: cell.rule, symbol, column, index, byteOffset: cell.at, rejected: 0 });
        cells[index] = undefined;
        continue;
      }
      const rejected = bad.has(index) ? 0 : 1;
      bad.add(index);
      issues.push({ rule: cell.rule, symbol, column, index, byteOffset: cell.at, rejected });
    }
  }
  const rows = columns.get("timestamp")?.cells.length ?? 0;
  const received = Math.max(0, ...[...columns.values()].map(({ cells }) => cells.length));
  for (const column of WIRE_COLUMNS) {
    const found = columns.get(column);
    if (found && found.cells.length !== rows) fail("unequal_lengths", column, found.keyAt);
    if (!found && !OPTIONAL_COLUMNS.has(column) && !keys.has(column)) fail("missing_column", column, data.at);
  }
  if (failed) {
    if (received > 0) issues.push({ rule: failed, symbol, byteOffset: data.at, rejected: received });
    return { received };
  }
  const { cells: stamps = [], keyAt: byteOffset = 0 } = columns.get("timestamp") ?? {};
  for (const [index, stamp] of stamps.entries()) {
    if (bad.has(index)) continue;
    const ms = Number(stamp);
    const inTime = ms >= EARLIEST && ms <= LATEST;
    if (inTime && ms >= (window?.first ?? ms) && ms <= (window?.last ?? ms)) continue;
    bad.add(index);
    const rule = inTime ? "outside_window" : "out_of_range";
    issues.push({ rule, symbol, column: "timestamp", index, byteOffset, rejected: 1 });
  }
  const good = Array.from({ length: rows }, (_, index) => index)
    .filter((index) => !bad.has(index))
    .map((index) =>
      Object.fromEntries(
        WIRE_COLUMNS.map((name) => {
          const cell = columns.get(name)?.cells[index] as number | bigint | undefined;
          return [name, name === "timestamp" ? Number(cell) : cell];
        }),
      ),
    ) as unknown as PlainBar[];
  const newest = new Map(good.map((bar) => [bar.timestamp, bar]));
  const bars = [...newest.values()].sort((a, b) => a.timestamp - b.timestamp);
  const rejected = good.length - bars.length;
  if (rejected > 0 || bars.some((bar, index) => bar !== good[index])) {
    const rule = rejected > 0 ? "duplicate_key" : "unsorted";
    issues.push({ rule, symbol, column: "timestamp", byteOffset: data.at, rejected });
  }
  return { received, bars };
}

function cellOf(column: string, item: JsonTree): Cell {
  if (item.kind === "null")
    return OPTIONAL_COLUMNS.has(column) ? undefined : new Defect("null_in_required", item.at);
  if (item.kind !== "number") return new Defect("wrong_type", item.at);
  if (column !== "timestamp" && column !== "volume") {
    const value = JSON.parse(item.text) as number;
    return Number.isFinite(value) ? value : new Defect("out_of_range", item.at);
  }
  const value = integerOf(item.text);
  return typeof value === "bigint" ? value : new Defect(value, item.at);
}

/** The integer that a number's text means, by shifting its digits. */
function integerOf(text: string): bigint | "fraction_in_integer" | "out_of_range" {
  const [digits = "", power = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = digits.replace("-", "").split(".");
  const all = (whole + fraction).replace(/^0+/, "");
  if (all === "") return 0n;
  const places = Number(power) - fraction.length;
  const kept = places < 0 ? all.slice(0, places) : all + "0".repeat(Math.min(places, 40));
  if (places < 0 && /[^0]/.test(all.slice(places))) return "fraction_in_integer";
  const value = BigInt(`${text.startsWith("-") ? "-" : ""}${kept === "" ? "0" : kept}`);
  return BigInt.asIntN(64, value) === value ? value : "out_of_range";
}

function repeats(keys: readonly string[]): boolean {
  return new Set(keys).size < keys.length;
}
