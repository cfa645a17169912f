import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Catalog } from "../../../../db/catalog/catalog.js";
import { splitUnit } from "../../../../db/catalog/macro-comment.js";
import { beginningWith, type Candidate, sqlCandidates } from "../../../../db/catalog/sql-candidates.js";
import { sqlTokens } from "../../../../db/statement/sql-tokens.js";

/** The sources of the names. */
export interface ProposalLinks {
  readonly catalog: () => Promise<Catalog | undefined>;
  readonly parameters: () => readonly string[];
}

/** Most names in the list. */
const MOST = 100;

/** Proposes what can follow at the cursor, by the same rules as the shell. */
export function proposals({ catalog, parameters }: ProposalLinks) {
  return async ({ state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> => {
    const known = await catalog();
    if (known === undefined) return null;
    const { word, found } = proposalsAt(state.doc.toString(), pos, known, parameters());
    if (found.length === 0 || (word === "" && !explicit)) return null;
    return { from: pos - word.length, options: found.slice(0, MOST).map(optionOf), filter: false };
  };
}

/** The candidates at a position in a cell's text, which may contain several statements. */
export function proposalsAt(
  text: string,
  at: number,
  catalog: Catalog,
  parameters: readonly string[],
): { readonly word: string; readonly found: readonly Candidate[] } {
  const [parameter] = /\$\w*$/.exec(text.slice(0, at)) ?? [];
  if (parameter !== undefined) {
    const named = parameters.map(
      (name): Candidate => ({ text: `$${name}`, kind: "alias", comment: "parameter" }),
    );
    return { word: parameter, found: beginningWith(parameter, named, (one) => one.text) };
  }
  const ends = sqlTokens(text).filter(({ kind, text: symbol }) => kind === "symbol" && symbol === ";");
  const start = ends.findLast((end) => end.start < at)?.start ?? -1;
  const stop = ends.find((end) => end.start >= at)?.start ?? text.length;
  return sqlCandidates(text.slice(start + 1, at), catalog, text.slice(at, stop));
}

function optionOf({ text, kind, type, comment }: Candidate): Completion {
  const { text: said, unit } = splitUnit(comment);
  return {
    label: text,
    detail: [type?.toLowerCase() ?? kind, unit].filter((part) => part !== "").join(" · "),
    ...(said === "" ? {} : { info: said }),
  };
}
