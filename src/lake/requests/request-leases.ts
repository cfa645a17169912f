import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import { LakeError } from "../../core/errors.js";
import type { Clock, TimeRange } from "../../core/time.js";
import { writeFaultOf } from "../../db/file-fault.js";
import { touch } from "../local/file-clock.js";
import type { LakePlaces } from "../local/work-folder.js";
import { HEARTBEAT_MS, isOwnerAlive } from "./heartbeat.js";

/** Folder of the leases of this lake's runs, one file for each lease. */
const FOLDER = "leases";
const LEASE = ".json";

/** What a request asks for. */
export interface Subject {
  readonly dataset: string;
  /** Symbols, universes or exchanges; empty for the dataset as a whole. */
  readonly symbols: readonly string[];
  /** Undefined for a snapshot. */
  readonly window?: TimeRange | undefined;
}

const leaseShape = z.object({
  runId: z.string(),
  host: z.string(),
  pid: z.int().positive(),
  dataset: z.string(),
  symbols: z.array(z.string()),
  window: z.object({ start: z.number(), end: z.number() }).optional(),
});
type LeaseFile = z.infer<typeof leaseShape>;

/** The exclusive right to request something, until the response has landed. */
export interface Lease {
  /** Adds a user of the lease, who must release it too. */
  retain(): Lease;
  /** Ends one use. After the last one other runs may make the request. */
  release(): Promise<void>;
}

/**
 * Prevents several runs on one lake from requesting the same data at the same time, as each request is paid for. A run
 * writes its lease first and then looks for the leases of others; where they overlap, it withdraws its own. So at least
 * one of any two runs sees the other, and never do both make the request. It is a class because it owns the leases and
 * sends their heartbeats.
 */
export class RequestLeases {
  readonly #folder: string;
  readonly #runId: string;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #own = new Map<string, LeaseFile>();
  /** Leases of other runs: a file never changes, and its name is used once. */
  readonly #known = new Map<string, LeaseFile>();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor({ work }: Pick<LakePlaces, "work">, runId: string, clock: Pick<Clock, "sleep"> = systemClock) {
    this.#folder = join(work.path, FOLDER);
    this.#runId = runId;
    this.#clock = clock;
  }

  /**
   * Leases a subject.
   *
   * @returns undefined where another live run has leased a part of it.
   * @throws {LakeError} where the lease cannot be written to disk.
   */
  async take(subject: Subject): Promise<Lease | undefined> {
    const id = await this.#write(subject);
    if (await this.#isTaken(subject, id)) {
      await this.#remove(id);
      return undefined;
    }
    let uses = 1;
    const lease: Lease = {
      retain: () => {
        uses++;
        return lease;
      },
      release: async () => {
        if (--uses === 0) await this.#remove(id);
      },
    };
    return lease;
  }

  /** Releases every lease. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
    for (const id of this.#own.keys()) await this.#remove(id);
    // The folder stays where it contains leases of another run.
    await rmdir(this.#folder).catch(() => {});
  }

  async #write({ dataset, symbols, window }: Subject): Promise<string> {
    const id = randomUUID();
    const content: LeaseFile = {
      runId: this.#runId,
      host: hostname(),
      pid: process.pid,
      dataset,
      symbols: [...symbols],
      ...(window && { window: { start: window.start, end: window.end } }),
    };
    await this.#put(id, content);
    this.#own.set(id, content);
    this.#heartbeat ??= setInterval(() => void this.#beat(), HEARTBEAT_MS).unref();
    return id;
  }

  async #put(id: string, content: LeaseFile): Promise<void> {
    const draft = join(this.#folder, `${id}.draft`);
    for (let attempt = 1; ; attempt++) {
      try {
        await mkdir(this.#folder, { recursive: true });
        await writeFile(draft, JSON.stringify(content));
        await rename(draft, join(this.#folder, id + LEASE));
        break;
      } catch (error) {
        await rm(draft, { force: true }).catch(() => {});
        const fault = writeFaultOf(error, draft);
        if (fault !== undefined) throw new LakeError(fault.message, { hint: fault.hint, cause: error });
        // Another run may have deleted the folder together with its last lease.
        if (!isMissing(error) || attempt === 10) throw error;
      }
    }
  }

  async #beat(): Promise<void> {
    for (const [id, content] of this.#own) {
      await touch(join(this.#folder, id + LEASE)).catch((error: unknown) =>
        isMissing(error) ? this.#restore(id, content) : undefined,
      );
    }
  }

  /** Writes a lease again that another run deleted: it took this process for dead, while the request is in flight. */
  async #restore(id: string, content: LeaseFile): Promise<void> {
    // A lease that was released in the meantime stays deleted.
    if (this.#own.has(id)) await this.#put(id, content).catch(() => {});
    if (!this.#own.has(id)) await this.#remove(id);
  }

  async #remove(id: string): Promise<void> {
    this.#own.delete(id);
    await rm(join(this.#folder, id + LEASE), { force: true });
  }

  /** @param ownId id of the lease that was just written: the modification time of its file is the current time. */
  async #isTaken(subject: Subject, ownId: string): Promise<boolean> {
    const names = await readdir(this.#folder).catch((): string[] => []);
    const ids = names.filter((name) => name.endsWith(LEASE)).map((name) => name.slice(0, -LEASE.length));
    for (const id of this.#known.keys()) if (!ids.includes(id)) this.#known.delete(id);
    for (const id of ids) {
      if (this.#own.has(id)) continue;
      const other = this.#known.get(id) ?? (await this.#read(id));
      if (other === undefined || other.runId === this.#runId) continue;
      this.#known.set(id, other);
      if (overlap(subject, other) && (await this.#isAlive(id, other, ownId))) return true;
    }
    return false;
  }

  async #read(id: string): Promise<LeaseFile | undefined> {
    try {
      return leaseShape.parse(JSON.parse(await readFile(join(this.#folder, id + LEASE), "utf8")));
    } catch {
      // The lease was just released, or damaged by a crash: then its process has ended.
      return undefined;
    }
  }

  /** Whether the process of a lease is alive; deletes the lease of a process that has ended. */
  async #isAlive(id: string, owner: LeaseFile, ownId: string): Promise<boolean> {
    const path = join(this.#folder, id + LEASE);
    const { mtimeMs: now } = await stat(join(this.#folder, ownId + LEASE));
    try {
      if (await isOwnerAlive(path, owner, now, this.#clock)) return true;
    } catch (error) {
      if (!isMissing(error)) throw error;
      return false;
    }
    await rm(path, { force: true });
    return false;
  }
}

/** Whether two subjects overlap. */
function overlap(a: Subject, b: Subject): boolean {
  if (a.dataset !== b.dataset) return false;
  if (a.window && b.window && (a.window.start >= b.window.end || b.window.start >= a.window.end))
    return false;
  if (a.symbols.length === 0 || b.symbols.length === 0) return true;
  const symbols = new Set(b.symbols);
  return a.symbols.some((symbol) => symbols.has(symbol));
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
