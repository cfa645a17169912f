import { createHash, randomUUID } from "node:crypto";
import { appendFile, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";

/** The first word of the file; another number is another form. */
const FORM = "barlake-symbols-1";

/** The bits of a file's mode that let other users write it. */
const OTHERS_WRITE = 0o022;

/** Symbols of data files by the file's path in its table: sorted, with a space between two. */
type FileSymbols = ReadonlyMap<string, string>;

/**
 * The file on this machine that caches which symbols the data files of a table have; undefined where the user wants no
 * cache. Data files never change, so an entry is valid for as long as its file is live.
 */
function pathOf(lake: Lake, { name }: TableSchema): string | undefined {
  const place = lake.segmentPlace();
  return place && join(place.folder, "symbols", `${name}.txt`);
}

/** The cached symbols of a table; empty where there are none, or the file is not whole. */
export async function readSymbols(lake: Lake, table: TableSchema): Promise<FileSymbols> {
  const path = pathOf(lake, table);
  const text = path && (await readOwn(path).catch(() => undefined));
  if (text === undefined) return new Map();
  const end = text.indexOf("\n");
  const body = text.slice(end + 1);
  if (text.slice(0, end) !== headOf(body)) return new Map();
  return new Map(
    body.split("\n").flatMap((line): [string, string][] => {
      const tab = line.indexOf("\t");
      return tab < 0 ? [] : [[line.slice(0, tab), line.slice(tab + 1)]];
    }),
  );
}

/** The text of a file that belongs to this user, and that no other may write; undefined for any other file. */
async function readOwn(path: string): Promise<string | undefined> {
  await using file = await open(path);
  const { uid, mode } = await file.stat();
  const isOwn = uid === (process.getuid?.() ?? uid) && (mode & OTHERS_WRITE) === 0;
  return isOwn ? await file.readFile("utf8") : undefined;
}

/** Replaces the cached symbols of a table. If that fails, they are read from the data files again. */
export async function writeSymbols(lake: Lake, table: TableSchema, symbols: FileSymbols): Promise<void> {
  const path = pathOf(lake, table);
  if (path === undefined) return;
  const body = [...symbols].map(([file, list]) => `${file}\t${list}\n`).join("");
  const unfinished = `${path}.${randomUUID()}.partial`;
  try {
    // The lake may be readable by its user only.
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(unfinished, `${headOf(body)}\n${body}`, { mode: 0o600 });
    await rename(unfinished, path);
  } catch {
    await rm(unfinished, { force: true }).catch(() => {});
  }
}

/** Deletes the cached symbols of a table: a data file that was damaged may have been read. */
export async function forgetSymbols(lake: Lake, table: TableSchema): Promise<void> {
  const path = pathOf(lake, table);
  if (path !== undefined) await rm(path, { force: true }).catch(() => {});
}

/** The first line: the hash shows whether the rest is what was written. */
function headOf(body: string): string {
  return `${FORM} ${createHash("sha256").update(body).digest("hex")}`;
}

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
