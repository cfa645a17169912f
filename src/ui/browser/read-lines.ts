import type { NotebookLine } from "../page-data.js";
import { ask } from "./fetch-data.js";

/** Reads a notebook's run line by line, as its cells end. @throws {Fault} */
export async function readLines(
  address: string,
  signal: AbortSignal,
  onLine: (line: NotebookLine) => void,
): Promise<void> {
  const { body } = await ask(address, signal);
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (!signal.aborted) onLine(JSON.parse(line) as NotebookLine);
  }
}
