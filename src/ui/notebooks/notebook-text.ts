import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

/** The content of a notebook's file. */
export interface NotebookText {
  readonly text: string;
  /** Hash of the file's bytes, by which a change is noticed. */
  readonly hash: string;
  /** Whether the text is exactly the content of the file. Saving would damage a file that is not UTF-8. */
  readonly isExact: boolean;
}

/** Reads the file of a notebook. A byte order mark remains in the text. @throws the system's error. */
export async function readNotebookText(path: string): Promise<NotebookText> {
  const bytes = await readFile(path);
  const text = bytes.toString("utf8");
  const isExact = Buffer.from(text).equals(bytes);
  return { text, hash: hashOf(bytes), isExact };
}

/** The hash of a file's content. */
export function hashOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}
