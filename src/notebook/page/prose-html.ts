import { Marked } from "marked";
import { escapeHtml } from "./escape-html.js";

const markdown = new Marked({
  async: false,
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      if (!/^(https?:|mailto:|#)/i.test(href)) return text;
      return `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${text}</a>`;
    },
    // A page loads nothing, so an image is replaced by its text.
    image: ({ text }) => escapeHtml(text),
  },
});

/** Markdown as HTML. HTML within it is shown as text. Links can lead only to the web, a mailbox or the page itself. */
export function proseHtml(prose: string): string {
  return markdown.parse(prose) as string;
}
