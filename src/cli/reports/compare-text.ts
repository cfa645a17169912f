import type { Example, NamedDifference, TableDifferences } from "../../jobs/compare/compare-sources.js";
import { count, duration, paint, plural, table } from "../text.js";

/** What a comparison found: a table of the kinds, and examples of each. @param a names of the sources. */
export function differencesText(found: readonly TableDifferences[], a: string, b: string): string {
  const parts = [`A ${a}`, `B ${b}`, ""];
  for (const one of found) {
    const rows = `${plural(one.rowsA, "row")} in A, ${count(one.rowsB)} in B, ${count(one.common)} in both`;
    parts.push(`${paint("bold", one.table)}: ${rows}`);
    if (one.notCompared.length > 0)
      parts.push(`not compared: ${one.notCompared.join(", ")} (only one has them)`);
    if (one.columns.length === 0)
      parts.push(paint("red", "nothing was compared: no column with numbers in common"), "");
    else if (one.different === 0) parts.push(paint("green", "no difference"), "");
    else parts.push(kindsTable(one.differences), "", ...one.differences.flatMap(examplesText), "");
  }
  return `${parts.join("\n").trimEnd()}\n`;
}

function kindsTable(differences: readonly NamedDifference[]): string {
  const rows = differences.map((one) => [
    one.kind,
    count(one.rows),
    count(one.symbols),
    one.first,
    one.last,
    one.onlyA === 0 ? "" : count(one.onlyA),
    one.onlyB === 0 ? "" : count(one.onlyB),
    howText(one),
  ]);
  return table(
    ["difference", "rows", "symbols", "first", "last", "only in A", "only in B", "commonest"],
    rows,
  );
}

function howText({ kind, factor, shiftMs }: NamedDifference): string {
  if (factor !== null) return kind === "unit" ? `B is A x ${factor}` : `B's prices are A's x ${factor}`;
  if (shiftMs !== null) return `B is ${duration(Math.abs(shiftMs))} ${shiftMs < 0 ? "earlier" : "later"}`;
  return "";
}

function examplesText({ kind, examples }: NamedDifference): string[] {
  return examples.map(
    ({ symbol, at, a, b }: Example) => `${kind}: ${symbol} ${at}  A ${valuesText(a)}  B ${valuesText(b)}`,
  );
}

function valuesText(values: Example["a"]): string {
  if (values === null) return "-";
  const shown = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return shown.length === 0 ? "null" : shown.join(", ");
}
