import { BarlakeError, messageOf, QueryError } from "../core/errors.js";
import { laterErrors } from "../core/release-after.js";
import { errorPlace, PLACE, placeText } from "../db/result/error-place.js";
import { sqlTokens } from "../db/sql-tokens.js";
import { isSymbol } from "../market/symbol.js";
import { paint } from "./text.js";

/** Options of the library whose flag has another name. */
const FLAGS: Readonly<Record<string, string>> = {
  'existing: "append"': "--append",
  'existing: "replace"': "--replace",
  "roundVolumes: true": "--round-volumes",
  "announceLagDays: 60": "--announce-lag 60d",
};

/** Options of the library that errors name, and that a command has as the flag of the same name. */
const SAME =
  "amountUnit|barLabel|catalog|dateFormat|decimal|encoding|exchange|location|map|metricsPort|output|period|port|prices|schema|server|skip|source|symbols?|values|volumeUnit|zone";

/** `name`, `name: "value"`, or `name: { key: "value" }`, in backquotes. */
const OPTION = new RegExp(
  `\`(?:(${Object.keys(FLAGS).join("|")})|(${SAME})(?:: "([^"\`]*)"|: \\{ (\\w+): "([^"\`]*)" \\})?)\``,
  "g",
);

/**
 * A text of the library as the command line says it. The library names its options in backquotes, as a program gives
 * them: `` `volumeUnit: "lots"` `` is `--volume-unit lots` here.
 */
export function inOptionWords(text: string): string {
  return text.replace(OPTION, (_, other, name = "", value, key, keyed) => {
    if (other !== undefined) return FLAGS[other] as string;
    const flag = `--${name.replace(/[A-Z]/g, (letter: string) => `-${letter.toLowerCase()}`)}`;
    if (key !== undefined) return `${flag} ${key}=${keyed}`;
    return value === undefined ? flag : `${flag} ${value}`;
  });
}

export class StatementError extends QueryError {
  /** Number of its first line among all lines, from 1. */
  readonly line: number;

  constructor(error: QueryError, line: number) {
    super(error.message, error.sql, { hint: error.hint, cause: error });
    this.line = line;
  }
}

/** The messages of errors that parts of a command met, for its JSON; nothing without an error. */
export function failuresOf(errors: readonly unknown[]): { readonly failures?: readonly string[] } {
  return errors.length === 0 ? {} : { failures: errors.map((error) => inOptionWords(messageOf(error))) };
}

/** Throws the first of the errors that parts of a command met, after it has shown the others. Without one, does nothing. */
export function throwErrors(errors: readonly unknown[]): void {
  for (const error of errors.slice(1))
    process.stderr.write(`${paint("red", "error:")} ${inOptionWords(messageOf(error))}\n`);
  if (errors.length > 0) throw errors[0];
}

/** A refusal of the operating system, in words for the user who has to act. */
interface SystemFault {
  readonly message: string;
  readonly hint: string;
}

const OTHER_PLACE = "choose another place";
const MAKE_SPACE = "make space, then run the command again";

/** Codes of the system that a user can do something about: what they mean of a path, and what to do. */
const FAULTS: Readonly<Record<string, { readonly says: string; readonly hint: string }>> = {
  EACCES: {
    says: "this user may not use it",
    hint: `${OTHER_PLACE}, or change its owner or mode`,
  },
  EPERM: { says: "the system does not permit it", hint: OTHER_PLACE },
  EROFS: { says: "the file system is mounted read-only", hint: OTHER_PLACE },
  ENOTDIR: {
    says: "it is a file, and a folder is needed",
    hint: `${OTHER_PLACE}, or move the file away`,
  },
  EISDIR: { says: "is a folder, and a file is needed", hint: "give the name of a file in it" },
  EEXIST: { says: "it exists already", hint: "choose another name, or move it away" },
  ENOENT: { says: "it does not exist", hint: "check the path" },
  ENAMETOOLONG: { says: "the name is too long", hint: "choose a shorter one" },
  ENOSPC: { says: "the disk is full", hint: MAKE_SPACE },
  EDQUOT: { says: "the disk quota is used up", hint: MAKE_SPACE },
  EMFILE: {
    says: "too many files are open",
    hint: "raise the limit (ulimit -n), then run the command again",
  },
  EIO: { says: "the disk reports an error", hint: "check the disk, then run the command again" },
};

/** What an error of the system means; undefined for any other error, and where the system names no path. */
export function systemFaultOf(error: unknown): SystemFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = "", path, syscall } = error as NodeJS.ErrnoException;
  const fault = Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
  if (fault === undefined || path === undefined) return undefined;
  return {
    message: `${path}: ${fault.says} (${code}${syscall === undefined ? "" : `, ${syscall}`})`,
    hint: fault.hint,
  };
}

interface QueryErrorText {
  /** DuckDB's message, without the position and without its proposals. */
  readonly message: string;
  /** The statement's line, with a caret below it; undefined if DuckDB gives no position. */
  readonly place: string | undefined;
  readonly hint: string | undefined;
}

/** DuckDB's proposals. */
const CANDIDATES = /^(?:Candidate bindings:|Did you mean) (.+?)\??$/m;

/**
 * Parses DuckDB's message about a query.
 *
 * @param firstLine number of the statement's first line, if it is one of several statements.
 */
export function queryErrorText(error: QueryError, firstLine = 1): QueryErrorText {
  const { message } = error;
  const [beforeFunctions = ""] = message.replace(PLACE, "").split(/\n\s*Candidate functions:/);
  const text = beforeFunctions.replace(CANDIDATES, "").trim();
  return {
    message: text,
    place: placeOf(error, firstLine),
    hint:
      quotedText(error) ?? (error.hint && inOptionWords(error.hint)) ?? proposals(message) ?? adviceFor(text),
  };
}

function placeOf(error: QueryError, firstLine: number): string | undefined {
  const place = errorPlace(error);
  if (place === undefined) return undefined;
  const isOnly = firstLine === 1 && !error.sql.includes("\n");
  return placeText(place, isOnly ? "" : `line ${firstLine + place.line}: `);
}

/** The advice where double quotes are around what cannot be meant as a column: a symbol, a date, several words. */
function quotedText({ message, sql }: QueryError): string | undefined {
  const [, name = ""] = /Referenced column "(.+?)" (?:not found|was not found)/.exec(message) ?? [];
  if (/^\w*$/.test(name) || !sql.includes(`"${name}"`)) return undefined;
  return `text goes in single quotes: '${name.replaceAll("'", "''")}'; double quotes are for names of columns`;
}

/**
 * The advice about a statement without rows that compares a column `symbol` with a text of no symbol's form; undefined
 * for any other.
 */
export function symbolAdvice(sql: string): string | undefined {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "blank" && kind !== "comment");
  const given = tokens.find(
    ({ kind, text }, at) =>
      kind === "string" &&
      /^'[^']*'$/.test(text) &&
      !isSymbol(text.slice(1, -1)) &&
      tokens[at - 1]?.text === "=" &&
      /^"?symbol"?$/i.test(tokens[at - 2]?.text ?? ""),
  );
  if (given === undefined) return undefined;
  return `${given.text} has not the form of a symbol: that ends with its exchange, as 600330.SH, 00700.HK and AAPL.US do`;
}

function proposals(message: string): string | undefined {
  const names = [...(CANDIDATES.exec(message)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(([, name]) => name);
  if (names.length === 0) return undefined;
  const last = names.at(-1);
  return `did you mean ${names.length === 1 ? last : `${names.slice(0, -1).join(", ")} or ${last}`}?`;
}

function adviceFor(message: string): string | undefined {
  if (/^Catalog Error: Table .* does not exist/.test(message))
    return "the shell's .tables lists what there is";
  if (/does not have a column named|Referenced column .* not found/.test(message))
    return "the shell's .describe NAME lists the columns of a table";
  if (/You might need to add explicit type casts/.test(message))
    return "cast a value with ::, as in '1'::INTEGER";
  return undefined;
}

/** A failed query as lines for people; {@link queryErrorText} documents the parameters. */
function formatQueryError(error: QueryError, firstLine?: number): string {
  const { message, place, hint } = queryErrorText(error, firstLine);
  const lines = [`${paint("red", "error:")} ${message}`];
  if (place !== undefined) lines.push(...place.split("\n").map((line) => `  ${line}`));
  if (hint !== undefined) lines.push(`${paint("dim", "hint:")}  ${hint}`);
  return lines.join("\n");
}

/** An error for people: what went wrong, the place in a query, what to do next, and what failed after it. */
export function errorText(error: unknown): string {
  if (error instanceof QueryError)
    return formatQueryError(error, error instanceof StatementError ? error.line : undefined);
  const { message, hint: advice } = explanationOf(error);
  const hint = advice ? `\n${paint("dim", "hint:")}  ${inOptionWords(advice)}` : "";
  const later = laterErrors(error).map(
    (one) => `\n${paint("dim", "then:")}  ${inOptionWords(messageOf(one))}`,
  );
  return `${paint("red", "error:")} ${inOptionWords(message)}${hint}${later.join("")}`;
}

function explanationOf(error: unknown): { readonly message: string; readonly hint?: string | undefined } {
  if (error instanceof BarlakeError) return error;
  return systemFaultOf(error) ?? { message: messageOf(error) };
}
