/** A name and its description. */
export interface CommentedName {
  readonly name: string;
  readonly comment: string | undefined;
}

/** The parts of a macro's comment. */
export interface MacroComment {
  readonly summary: string | undefined;
  readonly parameters: readonly CommentedName[];
  /** Columns of a table macro's result, as far as its comment names them. */
  readonly columns: readonly CommentedName[];
  /** Another table macro, all of whose columns this one also has. */
  readonly columnsOf: string | undefined;
}

/**
 * Parses a macro's comment: a summary, then `parameter: ...` and `-> column: ...`, each on a line.
 *
 * @param parameters the macro's parameters, which the comment need not name.
 */
export function readMacroComment(comment: string, parameters: readonly string[]): MacroComment {
  const [summary = "", ...lines] = comment.split("\n");
  const said = (pattern: RegExp): CommentedName[] =>
    lines.flatMap((line) => {
      const [, name, text] = pattern.exec(line) ?? [];
      return name === undefined ? [] : [{ name, comment: text }];
    });
  const ofParameters = new Map(said(/^(\w+): (.*)$/).map((part) => [part.name, part.comment]));
  return {
    summary: summary === "" ? undefined : summary,
    parameters: parameters.map((name) => ({ name, comment: ofParameters.get(name) })),
    columns: said(/^-> (\w+): (.*)$/),
    columnsOf: /The columns of (\w+)/.exec(summary)?.[1],
  };
}

/** The description of a column, and its unit, which follows in brackets. */
export function splitUnit(comment: string | undefined): { readonly text: string; readonly unit: string } {
  const [, text = comment ?? "", unit = ""] = /^(.*?)\s*\[([^\]]*)\]$/s.exec(comment ?? "") ?? [];
  return { text, unit };
}
