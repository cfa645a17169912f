import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { LakeError } from "../../core/errors.js";
import { isRunning } from "../../core/running-process.js";
import type { TimeRange } from "../../core/time.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Lake } from "../lake.js";
import { touch } from "../storage/file-clock.js";

/** Folder of what the runs of this lake are asking for, a file a lease. */
const FOLDER = "leases";
const LEASE = ".json";
/** Time between two signs of life of a process. */
const HEARTBEAT_MS = 5000;
/** A lease without a sign of life for so long belongs to a process that has ended. */
const STALE_MS = 60_000;

/** What a request asks for. */
export interface Subject {
  readonly dataset: string;
  /** Symbols, universes or exchanges; none: the dataset as a whole. */
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

/** The sole right to ask for something, until what came of it has landed. */
export interface Lease {
  /** One more user of the lease, which must release it, too. */
  retain(): Lease;
  /** Ends one use; with the last one others may ask. */
  release(): Promise<void>;
}

/**
 * Keeps several runs on one lake from asking for the same thing at once, as each request is paid for. A run writes its
 * lease first and looks for others' afterwards; one that finds an overlap withdraws. So of any two runs at least one sees
 * the other, and never do both ask. A class because it holds the leases, and gives signs of life while it does.
 */
export class RequestLeases {
  readonly #folder: string;
  readonly #runId: string;
  readonly #own = new Set<string>();
  /** Leases of other runs: a file never changes, and its name is used once. */
  readonly #known = new Map<string, LeaseFile>();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(lake: Lake, runId: string) {
    this.#folder = join(lake.folder, FOLDER);
    this.#runId = runId;
  }

  /**
   * Leases a subject.
   *
   * @returns undefined where another run, which lives, asks for a part of it.
   * @throws {LakeError} where the disk does not take the lease.
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

  /** Gives up every lease. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
    for (const id of this.#own) await this.#remove(id);
    // Another run's leases may be in it.
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
        // The folder goes with the last lease that another run gives up.
        if (!isMissing(error) || attempt === 10) throw error;
      }
    }
    this.#own.add(id);
    this.#heartbeat ??= setInterval(() => void this.#beat(), HEARTBEAT_MS).unref();
    return id;
  }

  async #beat(): Promise<void> {
    for (const id of this.#own) await touch(join(this.#folder, id + LEASE)).catch(() => {});
  }

  async #remove(id: string): Promise<void> {
    this.#own.delete(id);
    await rm(join(this.#folder, id + LEASE), { force: true });
  }

  /** @param ownId of the lease that was written just before: its file has the time of now. */
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
      // Released in this moment, or damaged by a crash: then its process has ended.
      return undefined;
    }
  }

  /** Whether the process of a lease lives; the lease of one that has ended is deleted. */
  async #isAlive(id: string, { host, pid }: LeaseFile, ownId: string): Promise<boolean> {
    const { mtimeMs: now } = await stat(join(this.#folder, ownId + LEASE));
    try {
      const { mtimeMs } = await stat(join(this.#folder, id + LEASE));
      if (now - mtimeMs <= STALE_MS && (host !== hostname() || isRunning(pid))) return true;
    } catch (error) {
      if (!isMissing(error)) throw error;
      return false;
    }
    await rm(join(this.#folder, id + LEASE), { force: true });
    return false;
  }
}

/** Whether two requests ask for something in common. */
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
