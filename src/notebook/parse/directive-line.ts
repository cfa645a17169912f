const DIRECTIVE = /^--\s*%%(.*)$/s;

/** What a line of a notebook says after `-- %%`, without blanks around it; undefined for any other line. */
export function directiveOn(line: string): string | undefined {
  return DIRECTIVE.exec(line)?.[1]?.trim();
}

/** What a directive says after `param`; undefined for any other directive. */
export function parameterIn(directive: string): string | undefined {
  return /^param\b(.*)$/s.exec(directive)?.[1];
}
