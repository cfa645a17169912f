const DIRECTIVE = /^--\s*%%(.*)$/s;

/** The text after `-- %%` in a line of a notebook, without blanks around it; undefined for any other line. */
export function directiveOn(line: string): string | undefined {
  return DIRECTIVE.exec(line)?.[1]?.trim();
}

/** The text after `param` in a directive; undefined for any other directive. */
export function parameterIn(directive: string): string | undefined {
  return /^param\b(.*)$/s.exec(directive)?.[1];
}
