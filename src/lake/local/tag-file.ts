import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Most lines of a file of tags; the older half is dropped where there are more. */
const MAX_LINES = 200_000;

/**
 * Tags of files by path, shared by the processes of this machine. Lost tags do no harm: they are read from the storage
 * again.
 */
export class TagFile {
  readonly #path: string;
  #known: Promise<Map<string, string>> | undefined;

  /** @param path of a file with one JSON array for each entry, the newest last. */
  constructor(path: string) {
    this.#path = path;
  }

  /** The tags that the file had when this process first read it, and those that this process has added since. */
  known(): Promise<Map<string, string>> {
    this.#known ??= this.#read();
    return this.#known;
  }

  async add(path: string, tag: string): Promise<void> {
    (await this.known()).set(path, tag);
    await mkdir(dirname(this.#path), { recursive: true });
    // A short text that is appended in one write is not mixed with the texts of other processes.
    await appendFile(this.#path, `${JSON.stringify([path, tag])}\n`);
  }

  async #read(): Promise<Map<string, string>> {
    const text = await readFile(this.#path, "utf8").catch(() => "");
    const lines = text.split("\n").slice(0, -1);
    if (lines.length > MAX_LINES) {
      lines.splice(0, lines.length - MAX_LINES / 2);
      await writeFile(`${this.#path}.new`, `${lines.join("\n")}\n`)
        .then(() => rename(`${this.#path}.new`, this.#path))
        .catch(() => {});
    }
    return new Map(lines.flatMap(entryOf));
  }
}

function entryOf(line: string): [string, string][] {
  try {
    const [path, tag] = JSON.parse(line) as unknown[];
    return typeof path === "string" && typeof tag === "string" ? [[path, tag]] : [];
  } catch {
    return [];
  }
}
