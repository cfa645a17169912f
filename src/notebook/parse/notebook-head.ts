import { directiveOn } from "./directive-line.js";

/** What a list says about a notebook. */
export interface NotebookHead {
  /** Its first heading. */
  readonly title: string | undefined;
  /** The paragraph below the heading, without marks of Markdown. */
  readonly description: string | undefined;
}

const HEADING = /^--\s*#+\s*(.+)$/;
const PROSE = /^--\s+(\S.*)$/;

/** Reads the first heading of a notebook, and the paragraph below it. Nothing else is parsed, so that no text is wrong. */
export function notebookHead(text: string): NotebookHead {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const at = lines.findIndex((line) => HEADING.test(line));
  const title = HEADING.exec(lines[at] ?? "")?.[1]?.trim();
  const below = lines.slice(at + 1);
  const first = below.findIndex((line) => !/^(?:--)?\s*$/.test(line));
  const paragraph: string[] = [];
  for (const line of at < 0 || first < 0 ? [] : below.slice(first)) {
    const isOther = HEADING.test(line) || directiveOn(line) !== undefined;
    const prose = isOther ? undefined : PROSE.exec(line.trimEnd())?.[1];
    if (prose === undefined) break;
    paragraph.push(prose);
  }
  const description = paragraph.join(" ").replace(/\*\*|`/g, "");
  return { title, description: description === "" ? undefined : description };
}
