import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import { LakeError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { folderLeases } from "../../lease/folder-leases.js";
import { Leases } from "../../lease/leases.js";
import { RENEW_MS } from "../../lease/own-leases.js";
import { type Owner, ownerShape, thisProcess } from "../../lease/owner.js";
import { syncFolder, writing } from "../local/durable-file.js";
import type { LakePlaces, WorkFolder } from "../local/work-folder.js";
import { STALE_RUN_MS } from "./run-lease.js";

/**
 * Folder of responses that were received and have not landed yet, with one folder for each run; and its former name.
 */
const FOLDER = "spool";
const EARLIER_FOLDER = "answers";
const NOTE = ".json";
/** The lease of the process that has a folder. It moves with the folder to the process that takes it over. */
const OWNER = "owner";
const BODY = ".body";

/**
 * An owner that has not renewed its lease for this time, in milliseconds, counts as ended: earlier than its run, whose
 * lease is renewed at other times, so that who takes the run over finds its responses.
 */
const STALE_OWNER_MS = STALE_RUN_MS - 2 * RENEW_MS;

/** Folder of damaged responses, one folder for each run. */
const SET_ASIDE = "rejects/spool";

export function spoolFolder({ path }: Pick<WorkFolder, "path">): string {
  return join(path, FOLDER);
}

/** A response on disk: its metadata and, where it has any, its columns. */
export interface SpooledResponse {
  readonly note: unknown;
  readonly body: Uint8Array | undefined;
}

/** The content of the file of a note: the note, and the size and checksum of the complete body. */
const noteFile = z.object({
  note: z.unknown(),
  body: z.object({ bytes: z.int(), crc32: z.int() }).optional(),
});
type NoteFile = z.infer<typeof noteFile>;

/**
 * Stores a run's responses on disk from their arrival until they have landed, so that no response that was paid for is
 * requested again. A response is stored completely or not at all.
 */
export class ResponseSpool {
  readonly #work: WorkFolder;
  readonly #folder: string;
  readonly #lease: Leases<Owner>;
  #owned: Promise<void> | undefined;
  #isOwner = false;

  private constructor(work: WorkFolder, name: string, clock: Clock) {
    this.#work = work;
    this.#folder = join(work.path, FOLDER, name);
    this.#lease = leaseOf(this.#folder, work, clock);
  }

  /** The spool of a run. Its folder is created with the first response. */
  static of({ work }: Pick<LakePlaces, "work">, runId: string): ResponseSpool {
    return new ResponseSpool(work, runId, systemClock);
  }

  /**
   * Takes over the responses of runs that have ended; each folder goes to one process only.
   *
   * @param runId the run that takes them over.
   * @throws {LakeError} where the folders cannot be written.
   */
  static takeOver(
    { work }: Pick<LakePlaces, "work">,
    runId: string,
    clock: Clock = systemClock,
  ): Promise<ResponseSpool[]> {
    return writing(join(work.path, FOLDER), () => ResponseSpool.#takeAll(work, runId, clock));
  }

  static async #takeAll(work: WorkFolder, runId: string, clock: Clock): Promise<ResponseSpool[]> {
    const stores: ResponseSpool[] = [];
    for (const folder of [...(await foldersIn(work, EARLIER_FOLDER)), ...(await foldersIn(work, FOLDER))]) {
      // An owner that cannot be judged, because its record belongs to another user for example, counts as alive.
      if (
        await leaseOf(folder, work, clock)
          .isAlive(OWNER)
          .catch(() => true)
      )
        continue;
      const taken = new ResponseSpool(work, `${basename(folder).split("~")[0]}~${runId}`, clock);
      try {
        await mkdir(dirname(taken.#folder), { recursive: true });
        await rename(folder, taken.#folder);
        await taken.#owning();
        stores.push(taken);
      } catch (error) {
        if (isMissing(error)) continue;
        // Otherwise this process would still have the leases, and no later run could take the folders over.
        for (const store of stores) await store.close().catch(() => undefined);
        throw error;
      }
    }
    return stores;
  }

  /** Stores a response durably. @param body its columns, in pieces. @throws {LakeError} where it cannot be written. */
  async store(id: string, note: unknown, body?: Iterable<Uint8Array>): Promise<void> {
    const path = join(this.#folder, id);
    await writing(path, async () => {
      await this.#owning();
      const written = body && (await writeDurably(path + BODY, body));
      const text = JSON.stringify({ note, ...(written && { body: written }) } satisfies NoteFile);
      await writeDurably(`${path}.new`, [Buffer.from(text)]);
      await rename(`${path}.new`, path + NOTE);
      await syncFolder(this.#folder);
    });
  }

  /** Ids of the stored responses, sorted: in the order of their requests. */
  async ids(): Promise<string[]> {
    const notes = (await namesIn(this.#folder)).filter(
      (name) => name.endsWith(NOTE) && name !== OWNER + NOTE,
    );
    return notes.map((name) => name.slice(0, -NOTE.length)).sort();
  }

  /** Reads a response. @throws {LakeError} where it is missing or damaged. */
  async read(id: string): Promise<SpooledResponse> {
    const path = join(this.#folder, id);
    try {
      const { note, body: facts } = noteFile.parse(JSON.parse(await readFile(path + NOTE, "utf8")));
      if (facts === undefined) return { note, body: undefined };
      const body = await readFile(path + BODY);
      if (body.length === facts.bytes && crc32(body) === facts.crc32) return { note, body };
    } catch (cause) {
      throw new LakeError(`${FOLDER}/${basename(this.#folder)}/${id}: cannot be read`, { cause });
    }
    throw new LakeError(`${FOLDER}/${basename(this.#folder)}/${id}: its columns are damaged`);
  }

  /** Moves an unreadable response to the rejects. @returns its new path, relative to the work folder. */
  async setAside(id: string): Promise<string> {
    const folder = `${SET_ASIDE}/${basename(this.#folder)}`;
    await mkdir(join(this.#work.path, folder), { recursive: true });
    for (const name of [id + BODY, id + NOTE]) {
      const target = join(this.#work.path, folder, name);
      await rename(join(this.#folder, name), target).catch(unlessMissing);
    }
    return `${folder}/${id}`;
  }

  async forget(ids: Iterable<string>): Promise<void> {
    for (const id of ids) {
      await rm(join(this.#folder, id + NOTE), { force: true });
      await rm(join(this.#folder, id + BODY), { force: true });
    }
  }

  /** Gives up the folder: the next run takes over the responses that are still in it. */
  async close(): Promise<void> {
    if (this.#owned === undefined) return;
    await this.#owned.catch(() => undefined);
    this.#owned = undefined;
    await this.#lease.close();
    const left = await namesIn(this.#folder);
    if (left.some((name) => name.endsWith(NOTE))) return;
    for (const name of left) await rm(join(this.#folder, name), { force: true });
    await rmdir(this.#folder).catch(() => undefined);
  }

  /**
   * Makes this process the owner of the folder, once, and again where another run took the folder over because this
   * process seemed dead. That run then lands what was in the folder.
   */
  #owning(): Promise<void> {
    if (this.#isOwner && !existsSync(join(this.#folder, OWNER + NOTE))) this.#owned = undefined;
    this.#owned ??= this.#own();
    return this.#owned;
  }

  /** Creates the folder together with the lease of its owner, because a folder without an owner counts as abandoned. */
  async #own(): Promise<void> {
    this.#isOwner = false;
    if (existsSync(this.#folder)) await this.#lease.add(thisProcess(), { id: OWNER });
    else {
      const draft = join(this.#work.staging, randomUUID());
      await folderLeases(draft).create(OWNER, JSON.stringify(thisProcess()), "acquired");
      await mkdir(dirname(this.#folder), { recursive: true });
      await rename(draft, this.#folder);
      this.#lease.adopt(OWNER, thisProcess());
    }
    this.#isOwner = true;
  }
}

/** The leases of a run's folder; the only one is that of its owner. */
function leaseOf(folder: string, { staging }: WorkFolder, clock: Clock): Leases<Owner> {
  const kind = { content: ownerShape, ownerOf: (owner: Owner) => owner, staleMs: STALE_OWNER_MS };
  return new Leases(folderLeases(folder, { timeFolder: staging }), kind, clock);
}

/** The paths of the folders of all runs, sorted. */
async function foldersIn({ path }: WorkFolder, folder: string): Promise<string[]> {
  const root = join(path, folder);
  return (await namesIn(root)).sort().map((name) => join(root, name));
}

/** Writes a file durably. @returns the size and checksum of its content. */
async function writeDurably(
  path: string,
  pieces: Iterable<Uint8Array>,
): Promise<NonNullable<NoteFile["body"]>> {
  const file = await open(path, "w");
  const written = { bytes: 0, crc32: 0 };
  try {
    for (const piece of inLargerPieces(pieces)) {
      await file.writeFile(piece);
      written.bytes += piece.length;
      written.crc32 = crc32(piece, written.crc32);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return written;
}

/** Smaller pieces are joined: a response with few bars has a dozen of them. */
const LEAST_PIECE = 65_536;

/** Joins small pieces with those that follow; larger ones are not copied. */
function* inLargerPieces(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let small: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    const isLarge = piece.length >= LEAST_PIECE;
    if (bytes > 0 && (isLarge || bytes >= LEAST_PIECE)) {
      yield Buffer.concat(small);
      [small, bytes] = [[], 0];
    }
    if (isLarge) yield piece;
    else {
      small.push(piece);
      bytes += piece.length;
    }
  }
  if (bytes > 0) yield Buffer.concat(small);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    unlessMissing(error);
    return [];
  }
}

/** Ignores the error of a missing file, and throws any other. */
function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
