import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { LakeError } from "../core/errors.js";
import { writeFaultOf } from "../db/file-fault.js";
import type { Lake } from "./lake.js";
import { syncFolder } from "./storage.js";

/** Folder of answers that were received and have not landed yet, a folder a run. */
const FOLDER = "answers";
const OWNER = "owner.json";
const NOTE = ".json";
const BODY = ".body";
/** Time between two signs of life of a run. */
const HEARTBEAT_MS = 5000;
/** Silence after which a run counts as dead. */
const STALE_MS = 60_000;

/** An answer that was kept: what is known of it, and where its columns are. */
export interface KeptAnswer {
  readonly id: string;
  readonly note: unknown;
  /** Path of the body, which may be missing for an answer without one. */
  readonly body: string;
}

/**
 * Keeps a run's answers on disk from the moment they were received until they have landed, so that nothing that was
 * paid for is asked for twice. An answer is kept whole or not at all.
 */
export class AnswerStore {
  readonly #folder: string;
  #heartbeat: NodeJS.Timeout | undefined;
  #owned: Promise<void> | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Keeps answers for a run. The folder is made with the first of them. */
  static of(lake: Lake, runId: string): AnswerStore {
    return new AnswerStore(join(lake.folder, FOLDER, runId));
  }

  /**
   * Takes over what runs have left that are not alive any more; nobody else gets it then.
   *
   * @param runId who takes it.
   */
  static async takeOver(lake: Lake, runId: string): Promise<AnswerStore[]> {
    const root = join(lake.folder, FOLDER);
    const stores: AnswerStore[] = [];
    for (const name of (await namesIn(root)).sort()) {
      const folder = join(root, name);
      if (await isAlive(folder)) continue;
      const taken = new AnswerStore(join(root, `${name.split("~")[0]}~${runId}`));
      try {
        await rename(folder, taken.#folder);
        await taken.#owning();
        stores.push(taken);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
    return stores;
  }

  /** Keeps an answer, durably. @param body its columns, in pieces. @throws {LakeError} where the disk does not take it. */
  async keep(id: string, note: unknown, body?: AsyncIterable<Uint8Array>): Promise<void> {
    const path = join(this.#folder, id);
    try {
      await this.#owning();
      if (body !== undefined) await writeDurably(path + BODY, body);
      await writeDurably(`${path}.new`, [Buffer.from(JSON.stringify(note))]);
      await rename(`${path}.new`, path + NOTE);
      await syncFolder(this.#folder);
    } catch (cause) {
      const fault = writeFaultOf(cause, path);
      throw fault === undefined ? cause : new LakeError(fault.message, { hint: fault.hint, cause });
    }
  }

  /** What is kept, in the order in which it was asked for. */
  async kept(): Promise<KeptAnswer[]> {
    const notes = (await namesIn(this.#folder)).filter((name) => name.endsWith(NOTE) && name !== OWNER);
    return Promise.all(
      notes.sort().map(async (name) => {
        const id = name.slice(0, -NOTE.length);
        const note: unknown = JSON.parse(await readFile(join(this.#folder, name), "utf8"));
        return { id, note, body: join(this.#folder, id + BODY) };
      }),
    );
  }

  /** Forgets answers that have landed. */
  async forget(ids: Iterable<string>): Promise<void> {
    for (const id of ids) {
      await rm(join(this.#folder, id + NOTE), { force: true });
      await rm(join(this.#folder, id + BODY), { force: true });
    }
  }

  /** Gives up the folder: what is still in it is for the next run. */
  async close(): Promise<void> {
    if (this.#owned === undefined) return;
    await this.#owned.catch(() => undefined);
    clearInterval(this.#heartbeat);
    this.#owned = undefined;
    await rm(join(this.#folder, OWNER), { force: true });
    const left = await namesIn(this.#folder);
    if (left.some((name) => name.endsWith(NOTE))) return;
    for (const name of left) await rm(join(this.#folder, name), { force: true });
    await rmdir(this.#folder).catch(() => undefined);
  }

  /** Makes the folder this process's own, once. */
  #owning(): Promise<void> {
    this.#owned ??= this.#own();
    return this.#owned;
  }

  async #own(): Promise<void> {
    const owner = join(this.#folder, OWNER);
    await mkdir(this.#folder, { recursive: true });
    await writeFile(owner, JSON.stringify({ host: hostname(), pid: process.pid }));
    this.#heartbeat = setInterval(() => {
      const now = new Date();
      utimes(owner, now, now).catch(() => undefined);
    }, HEARTBEAT_MS).unref();
  }
}

async function writeDurably(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const file = await open(path, "w");
  try {
    for await (const piece of pieces) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Whether the process that a folder belongs to gives signs of life. */
async function isAlive(folder: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(join(folder, OWNER));
    if (Date.now() - mtimeMs > STALE_MS) return false;
    const owner = JSON.parse(await readFile(join(folder, OWNER), "utf8")) as { host?: string; pid?: number };
    return owner.host !== hostname() || isRunning(Number(owner.pid));
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
