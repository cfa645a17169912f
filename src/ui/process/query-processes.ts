import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QueryError } from "../../core/errors.js";
import { Permits } from "../../core/permits.js";
import type { Clock } from "../../core/time.js";
import { addVerified, type VerifiedFiles, verifiedOf } from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import { deleteEndedFolders, deleteFolder, processFolderPrefix } from "../../lease/process-folder.js";
import { type SessionLimits, sessionLimits, timeLimit } from "../session/session-limits.js";
import type { Job, JobNote, JobStart, ShownLake } from "./jobs.js";
import { StartedProcess } from "./started-process.js";

/**
 * Makes a folder for the results of a workspace, which only this user can read. It is deleted when the workspace
 * closes, or by its processes when it was killed; where all of them were killed, by the next workspace, here.
 */
export function makeWorkspaceFolder(place = tmpdir()): string {
  deleteEndedFolders(place, "ui");
  return mkdtempSync(join(place, processFolderPrefix("ui")));
}

interface JobUse {
  /** Ends the job, and its process, because the page was closed. */
  readonly signal: AbortSignal;
  /** Whether the job ends when its time is up. @default true */
  readonly isLimited?: boolean;
  /** Most bytes of the results that the job may store. It is called once, when the job begins. @default none */
  readonly resultBytes?: () => number;
}

interface OutputReceiver {
  /** Takes a piece. The next one is sent when it has resolved. @param signal aborts when the job must end. */
  readonly piece: (text: string, signal: AbortSignal) => Promise<void>;
  /** @param ownResults the folder of the results that the process stores. It is deleted when the process ends. */
  readonly note?: (note: Exclude<JobNote, { readonly kind: "verified" }>, ownResults: string) => void;
}

/** Most jobs at the same time. */
const MOST_BUSY = 3;
/** Most jobs with statements of users at the same time, so that rows of results need not wait for these. */
export const MOST_FOREIGN = 2;

const NONE: VerifiedFiles = { content: [], footers: [] };

/**
 * Processes that run the statements of users, and read their results, so that no statement can take the memory or the
 * time of the workspace: its process is killed. A process with statements of users has one job; for others a process
 * is used again. One idle process waits for the next job.
 */
export class QueryProcesses implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #limits: Required<SessionLimits>;
  readonly #permits = new Permits(MOST_BUSY);
  readonly #foreign = new Permits(MOST_FOREIGN);
  readonly #jobs = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #folder: string | undefined;
  #idle: StartedProcess | undefined;

  constructor(lake: Lake, clock: Clock, limits?: SessionLimits) {
    this.#lake = lake;
    this.#clock = clock;
    this.#limits = sessionLimits(limits);
  }

  get folder(): string {
    this.#folder ??= makeWorkspaceFolder();
    return this.#folder;
  }

  /** Starts a process for the next job if none waits for it. @param lake what the job probably reads. */
  warm(lake: ShownLake | undefined): void {
    if (this.#closing.signal.aborted) return;
    if (this.#idle === undefined || this.#idle.hasEnded) this.#idle = this.#start(lake);
  }

  /**
   * Performs a job, and waits for a permit first.
   *
   * @throws {QueryError} where the time is up, or the process needed too much memory; the signal's reason where it
   *   aborts; the error of the job.
   */
  perform(job: Job, use: JobUse, receiver: OutputReceiver): Promise<void> {
    const running = this.#perform(job, use, receiver);
    const settled = running.catch(() => {});
    this.#jobs.add(settled);
    void settled.finally(() => this.#jobs.delete(settled));
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new QueryError("the workspace is closing", ""));
    await Promise.all(this.#jobs);
    await this.#idle?.kill();
    if (this.#folder !== undefined) deleteFolder(this.#folder);
  }

  async #perform(
    job: Job,
    { signal: gone, isLimited = true, resultBytes = () => 0 }: JobUse,
    receiver: OutputReceiver,
  ): Promise<void> {
    const lake = lakeOf(job);
    using _ = await this.#permit(lake !== undefined);
    const ended = AbortSignal.any([gone, this.#closing.signal]);
    ended.throwIfAborted();
    const mostBytes = resultBytes();
    const idle = this.#takeIdle();
    using limit = isLimited ? timeLimit(this.#clock, this.#limits) : undefined;
    const signal = limit === undefined ? ended : AbortSignal.any([ended, limit.signal]);
    const performIn = (started: StartedProcess): Promise<void> =>
      this.#performIn(started, job, mostBytes, { ...receiver, signal });
    try {
      await performIn(idle ?? this.#start(lake));
    } catch (error) {
      // A machine that needs memory may end a process that does nothing.
      if (idle === undefined || idle.hasBegun || signal.aborted) throw error;
      await performIn(this.#takeIdle() ?? this.#start(lake));
    }
  }

  async #performIn(
    started: StartedProcess,
    job: Job,
    resultBytes: number,
    receiver: OutputReceiver & { readonly signal: AbortSignal },
  ): Promise<void> {
    const lake = lakeOf(job);
    const isForeign = lake !== undefined;
    let isReusable = false;
    try {
      const note = (given: JobNote): void => {
        if (given.kind === "verified") addVerified(this.#lake, given.files);
        else receiver.note?.(given, started.setting.ownResults);
      };
      const { content, footers } = started.setting.verified;
      const known = { content: content.length, footers: footers.length };
      const verified = isForeign ? verifiedOf(this.#lake, known) : NONE;
      const { signal, piece } = receiver;
      await performUntil(signal, started, [job, { verified, resultBytes }], piece, note);
      isReusable = !isForeign && this.#idle === undefined && !this.#closing.signal.aborted;
    } finally {
      if (isReusable) this.#idle = started;
      else await started.kill();
      // The next cell is probably run soon, and reads the same versions.
      if (isForeign) this.warm(lake);
    }
  }

  /** The process that waits for a job; undefined where there is none. */
  #takeIdle(): StartedProcess | undefined {
    const idle = this.#idle?.hasEnded === false ? this.#idle : undefined;
    this.#idle = undefined;
    return idle;
  }

  async #permit(isForeign: boolean): Promise<Disposable> {
    const foreign = isForeign ? await this.#foreign.take() : undefined;
    const permit = await this.#permits.take();
    return {
      [Symbol.dispose]: () => {
        permit[Symbol.dispose]();
        foreign?.[Symbol.dispose]();
      },
    };
  }

  #start(lake: ShownLake | undefined): StartedProcess {
    const { spillUnder = this.folder } = spillOptions(this.#lake.work);
    const id = randomUUID();
    const ownResults = join(this.folder, id);
    const spill = join(spillUnder, `spill-${id}`);
    const setting = {
      results: this.folder,
      ownResults,
      spill,
      limits: this.#limits,
      lake,
      patience: this.#lake.storage.access?.patience,
      verified: lake === undefined ? NONE : verifiedOf(this.#lake),
    };
    return new StartedProcess(setting, this.#lake.processEnvironment);
  }
}

/** The lake that the statements of a job read; undefined for a job without statements of users. */
function lakeOf(job: Job): ShownLake | undefined {
  return "lake" in job ? job.lake : undefined;
}

/** Performs a job until the signal aborts. @throws the signal's reason. */
async function performUntil(
  signal: AbortSignal,
  started: StartedProcess,
  [job, start]: readonly [Job, JobStart],
  piece: OutputReceiver["piece"],
  note: (note: JobNote) => void,
): Promise<void> {
  const stop = (): void => void started.kill();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await started.perform(job, start, { piece: (text) => piece(text, signal), note });
  } catch (error) {
    // The signal's reason is more precise than the end of the process.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
