import type { z } from "zod";

type ZodIssue = z.core.$ZodIssue;

interface Fault {
  readonly path: readonly PropertyKey[];
  readonly rule: string;
}

/** Fields whose value may be a secret, and is therefore not shown. */
const SECRET = new Set<PropertyKey>(["webhook"]);

export function pipelineFaults(definition: unknown, issues: readonly ZodIssue[]): string[] {
  return issues.flatMap(faultsOf).map(({ path, rule }) => {
    const field = path.join(".") || "definition";
    return `${field}: ${rule}${path.some((part) => SECRET.has(part)) ? "" : found(definition, path)}`;
  });
}

function faultsOf(issue: ZodIssue): Fault[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ path: [...path, key], rule: "is not a field here" }));
  if (issue.code === "invalid_union" && issue.discriminator === undefined) {
    const inner = closest(issue.errors.map((branch) => branch.flatMap(faultsOf)));
    return inner.map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
  }
  return [{ path, rule: ruleOf(issue) }];
}

function ruleOf(issue: ZodIssue): string {
  if (issue.code === "invalid_union") return "must be reference, bars, intraday, statements or files";
  if (issue.code === "invalid_value") return `must be ${oneOf(issue.values)}`;
  if (issue.code === "invalid_type")
    return `must be ${article(issue.expected === "array" ? "list" : issue.expected)}`;
  return issue.message.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
}

/** A cost that is larger than that of all other faults of a form together. */
const WRONG_TYPE = 100;

/**
 * The faults of the form that was probably meant: the form with the fewest faults, if possible one of the right type.
 */
function closest(branches: readonly Fault[][]): Fault[] {
  const cost = (faults: readonly Fault[]): number =>
    faults.length + (faults.some(({ path }) => path.length === 0) ? WRONG_TYPE : 0);
  return branches.toSorted((a, b) => cost(a) - cost(b))[0] ?? [];
}

function oneOf(values: readonly unknown[]): string {
  const names = values.map(String);
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The value of the field, if it is a short text or a number. */
function found(definition: unknown, path: readonly PropertyKey[]): string {
  let value = definition;
  for (const part of path) value = (value as Record<PropertyKey, unknown> | undefined)?.[part];
  if (value === undefined) return path.length > 0 ? ", is missing" : "";
  // An address may have a key or a password.
  if (typeof value === "string" && /:\/\/.*@/.test(value)) return "";
  return typeof value === "string" || typeof value === "number"
    ? `, is ${JSON.stringify(value).slice(0, 60)}`
    : "";
}
