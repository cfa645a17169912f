import { InvalidArgumentError, Option } from "commander";
import { shippedNotebooks } from "../../notebook/shipped-notebooks.js";

export interface NotebookOptions {
  readonly html?: string;
  readonly param?: ReadonlyMap<string, string>;
}

export function notebookOptions(): [html: Option, param: Option] {
  return [
    new Option("--html <file>", "with -f: write a page with tables and charts, which needs no network"),
    new Option("--param <name=value>", "of a notebook; may be given for several").argParser(paramOf),
  ];
}

export function shippedText(): string {
  const notebooks = shippedNotebooks();
  const width = Math.max(...notebooks.map(({ name }) => name.length));
  return notebooks.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`).join("\n");
}

function paramOf(text: string, earlier?: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Write it like symbol=600519.SH.");
  return new Map([...(earlier ?? []), [text.slice(0, at), text.slice(at + 1)]]);
}
