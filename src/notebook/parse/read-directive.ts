import type { Language } from "../../core/language.js";
import { type SqlToken, sqlTokens } from "../../db/sql-tokens.js";
import type { RisingColour } from "../../market/regions.js";
import {
  CHANNELS,
  CHART_KINDS,
  type Channel,
  type Chart,
  type ChartKind,
  type FiguresView,
  type Parameter,
  type Shown,
  type TableView,
  type View,
} from "../notebook.js";

export class DirectiveFault extends Error {
  readonly allowed: string;

  constructor(message: string, allowed: string) {
    super(message);
    this.allowed = allowed;
  }
}

const SHOWN = ["title", "title.zh", "percent", "empty", "empty.zh"];
/** Options of charts in addition to their columns, by kind of chart. */
const SETTINGS: Readonly<Record<ChartKind, readonly string[]>> = {
  line: ["log", "rule", "height"],
  bar: ["log", "rule", "stack", "height"],
  scatter: ["log", "rule", "height"],
  heatmap: ["height"],
  histogram: ["bins", "height"],
  candlestick: ["log", "rising", "height"],
};
const DIRECTIVES = "chart KIND, table, figures, param NAME = VALUE, names.zh NAME=TEXT, or nothing";

/** The view of a cell without a directive. */
export const PLAIN_TABLE: TableView = { kind: "table", ...shown(new Map()), rows: 200 };

/**
 * Reads the text after `-- %%`, except parameters and names.
 *
 * @param language of the title and of the text for no rows, where the directive has them in it. @throws {DirectiveFault}
 */
export function readView(text: string, language: Language = "en"): View {
  const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(text.trim()) ?? [];
  switch (word) {
    case "":
      return PLAIN_TABLE;
    case "table":
      return readTable(rest, language);
    case "figures":
      return {
        kind: "figures",
        ...shown(readOptions(rest, "figures", SHOWN), language),
      } satisfies FiguresView;
    case "chart":
      return readChart(rest, language);
    default:
      throw new DirectiveFault(`"${word}" is no directive`, DIRECTIVES);
  }
}

function readTable(text: string, language: Language): TableView {
  const options = readOptions(text, "table", [...SHOWN, "rows"]);
  return {
    kind: "table",
    ...shown(options, language),
    rows: numberOf("table", options, "rows", [1, 100_000], PLAIN_TABLE.rows),
  };
}

function readChart(text: string, language: Language): Chart {
  const [, kind = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(text) ?? [];
  if (!isChartKind(kind)) {
    throw new DirectiveFault(
      kind === "" ? "chart: the kind is missing" : `chart: "${kind}" is no kind`,
      CHART_KINDS.join(", "),
    );
  }
  const what = `chart ${kind}`;
  const rules = CHANNELS[kind];
  const names = rules.map(({ channel }) => channel);
  const options = readOptions(rest, what, [...names, ...SETTINGS[kind], ...SHOWN]);
  const columns: Partial<Record<Channel, readonly string[]>> = {};
  for (const { channel, need, isMany } of rules) {
    const given = options.get(channel);
    const listed = given === undefined ? [] : listOf(given);
    if (need === "required" && listed.length === 0)
      throw new DirectiveFault(`${what}: ${channel} is missing`, `${channel}=COLUMN`);
    if (isMany !== true && listed.length > 1)
      throw new DirectiveFault(`${what}: ${channel}=${given} names several columns`, "one");
    if (listed.length > 0) columns[channel] = listed;
  }
  if ((columns.low === undefined) !== (columns.high === undefined) && kind === "line")
    throw new DirectiveFault(`${what}: a band has two edges`, "low=COLUMN high=COLUMN");
  return {
    kind,
    columns,
    ...shown(options, language),
    height: numberOf(what, options, "height", [80, 2000], kind === "candlestick" ? 440 : 320),
    log: listOf(options.get("log") ?? "").map((axis) => axisOf(what, axis)),
    rule: listOf(options.get("rule") ?? "").map((value) => ruleOf(what, value)),
    isStacked: isYes(what, options, "stack"),
    rising: risingOf(what, options.get("rising")),
    bins: numberOf(what, options, "bins", [2, 500], 40),
  };
}

function isChartKind(kind: string): kind is ChartKind {
  return CHART_KINDS.some((known) => known === kind);
}

function shown(options: ReadonlyMap<string, string>, language: Language = "en"): Shown {
  const textOf = (name: string): string | undefined =>
    options.get(`${name}.${language}`) ?? options.get(name);
  return { title: textOf("title"), percent: listOf(options.get("percent") ?? ""), empty: textOf("empty") };
}

/** Reads `name=value` pairs. A value with blanks must be in quotes; quotes within it are doubled. */
function readOptions(text: string, what: string, allowed: readonly string[]): Map<string, string> {
  const pairs = /\s*(?:([A-Za-z_]\w*(?:\.zh)?)=("(?:[^"]|"")*"|'(?:[^']|'')*'|[^\s"']+)(?=\s|$)|(\S+))/gy;
  const options = new Map<string, string>();
  for (const [, name, value = "", stray] of text.trimEnd().matchAll(pairs)) {
    if (name === undefined) throw new DirectiveFault(`${what}: "${stray}" is no option`, namesOf(allowed));
    if (!allowed.includes(name))
      throw new DirectiveFault(`${what}: "${name}" is no option`, namesOf(allowed));
    if (options.has(name)) throw new DirectiveFault(`${what}: ${name} is given twice`, "once");
    options.set(name, unquoted(value));
  }
  return options;
}

function unquoted(value: string): string {
  const quote = value[0];
  if (quote !== '"' && quote !== "'") return value;
  return value.slice(1, -1).replaceAll(quote + quote, quote);
}

function namesOf(allowed: readonly string[]): string {
  return allowed.map((name) => `${name}=`).join(" ");
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function numberOf(
  what: string,
  options: ReadonlyMap<string, string>,
  name: string,
  [least, most]: readonly [number, number],
  fallback: number,
): number {
  const text = options.get(name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new DirectiveFault(`${what}: ${name}=${text}`, `a whole number from ${least} to ${most}`);
}

function isYes(what: string, options: ReadonlyMap<string, string>, name: string): boolean {
  const text = options.get(name) ?? "no";
  if (text === "yes" || text === "no") return text === "yes";
  throw new DirectiveFault(`${what}: ${name}=${text}`, "yes or no");
}

function risingOf(what: string, colour: string | undefined): RisingColour | undefined {
  if (colour === undefined || colour === "green" || colour === "red") return colour;
  throw new DirectiveFault(`${what}: rising=${colour}`, "green or red");
}

function axisOf(what: string, axis: string): "x" | "y" {
  if (axis === "x" || axis === "y") return axis;
  throw new DirectiveFault(`${what}: log=${axis}`, "x, y, or x,y");
}

function ruleOf(what: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new DirectiveFault(`${what}: rule=${text}`, "numbers, divided by commas");
}

/**
 * Reads `NAME=TEXT` pairs: what is shown for names of columns and parameters, and for texts in charts. What has blanks is in
 * quotes. @throws {DirectiveFault}
 */
export function readNames(text: string): [name: string, text: string][] {
  const pairs = /\s*(?:("(?:[^"]|"")+"|[^\s"=]+)=("(?:[^"]|"")+"|[^\s"]+)(?=\s|$)|(\S+))/gy;
  return [...text.trimEnd().matchAll(pairs)].map(([, name, value = "", stray]) => {
    if (name === undefined)
      throw new DirectiveFault(
        `names.zh: "${stray}" names nothing`,
        'NAME=TEXT, and "IN QUOTES" what has blanks',
      );
    return [unquoted(name), unquoted(value)];
  });
}

const FORM =
  "param NAME = VALUE, where VALUE is an SQL expression: param symbol = '600519.SH'; after it min=NUMBER max=NUMBER options=(QUERY)";

/**
 * Reads `NAME = EXPRESSION`, optionally followed by `min=1 max=250` for a number, or `options=(SELECT ...)` for a list
 * of values.
 *
 * @throws {DirectiveFault} for any other text.
 */
export function readParameter(text: string): Omit<Parameter, "line"> {
  const [, name, rest] = /^([A-Za-z_]\w*)\s*=\s*(\S.*)$/s.exec(text.trim()) ?? [];
  if (name === undefined || rest === undefined)
    throw new DirectiveFault(`param: "${text.trim()}" declares nothing`, FORM);
  const tokens = sqlTokens(rest);
  const starts = settingsIn(tokens);
  const expression = rest.slice(0, starts[0]?.start ?? rest.length).trim();
  if (expression === "") throw new DirectiveFault(`param ${name}: it has no value`, FORM);
  const parameter: { -readonly [Key in keyof Omit<Parameter, "line">]: Parameter[Key] } = {
    name,
    expression,
  };
  for (const [at, { word, start }] of starts.entries()) {
    const value = rest.slice(start + word.length + 1, starts[at + 1]?.start ?? rest.length).trim();
    if (parameter[word] !== undefined)
      throw new DirectiveFault(`param ${name}: ${word} is given twice`, "once");
    if (word === "options") parameter.options = queryOf(name, value);
    else parameter[word] = limitOf(name, word, value);
  }
  return parameter;
}

type Setting = "min" | "max" | "options";

/**
 * The settings: words outside parentheses that follow a blank and are directly followed by an equals sign; with their
 * positions.
 */
function settingsIn(tokens: readonly SqlToken[]): { readonly word: Setting; readonly start: number }[] {
  let depth = 0;
  return tokens.flatMap(({ kind, text, start }, at) => {
    if (text === "(" || text === "[") depth += 1;
    if (text === ")" || text === "]") depth -= 1;
    const isSetting =
      depth === 0 && kind === "word" && tokens[at - 1]?.kind === "blank" && tokens[at + 1]?.text === "=";
    return isSetting && (text === "min" || text === "max" || text === "options")
      ? [{ word: text, start }]
      : [];
  });
}

function limitOf(name: string, word: "min" | "max", value: string): number {
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw new DirectiveFault(`param ${name}: ${word}=${value}`, "a number");
}

function queryOf(name: string, value: string): string {
  const [, query] = /^\((.+)\)$/s.exec(value) ?? [];
  if (query !== undefined) return query.trim();
  throw new DirectiveFault(
    `param ${name}: options=${value}`,
    "a query in parentheses: options=(SELECT symbol FROM instruments)",
  );
}
