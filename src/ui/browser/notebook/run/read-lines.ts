import type { NotebookLine, RunRequest } from "../../../page-data.js";
import { send } from "../../fetch-data.js";

/** Runs the text of a notebook, and reads the output line by line, while the cells finish. @throws {Fault} */
export async function readLines(
  address: string,
  request: RunRequest,
  signal: AbortSignal,
  onLine: (line: NotebookLine) => void,
): Promise<void> {
  const { body } = await send("POST", address, request, signal);
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
