import { type SqlToken, sqlTokens } from "../../db/statement/sql-tokens.js";
import type { Parameter } from "../notebook.js";
import { DirectiveFault } from "./read-directive.js";

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
    else parameter[word] = numberOf(name, word, value);
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

function numberOf(name: string, word: "min" | "max", value: string): number {
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
