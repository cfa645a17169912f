import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../client/system-clock.js";
import {
  addVerified,
  type VerifiedFiles,
  verifiedCounts,
  verifiedOf,
} from "../../lake/files/verify-content.js";
import { Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { lineText, madePage, notebookLines } from "../notebooks/run-lines.js";
import { ResultFiles, ResultReader } from "../results/result-files.js";
import { openLocked, sandboxedEngine } from "../session/open-locked.js";
import type {
  Job,
  JobNote,
  JobStart,
  PageJob,
  ProcessSetting,
  RunJob,
  ShownLake,
  StoredResult,
} from "./jobs.js";

/** Where the output of a job goes. */
interface JobOutput {
  /** Passes a piece on, and waits until it was taken. */
  readonly piece: (text: string) => Promise<void>;
  readonly note: (note: JobNote) => void;
}

/** A session over versions of a lake, and what is known of the lake's files. */
interface Source extends Disposable {
  readonly reader: Reader;
  readonly addVerified: (files: VerifiedFiles) => void;
  /** Reports the files that were verified since the last call. */
  readonly noteVerified: () => void;
}

/** Most characters of a piece of a page. */
const PIECE = 2 ** 20;

/**
 * Performs jobs in this process, one at a time. It has no limits: the process ends where they are exceeded. What the
 * first job needs is opened at once. It is a class because it owns the databases.
 */
export class JobRunner {
  readonly #setting: ProcessSetting;
  readonly #output: JobOutput;
  readonly #results: ResultReader;
  readonly #files: ResultFiles;
  /** A session for the first job. */
  #opened: { readonly shown: ShownLake; readonly source: Promise<Source> } | undefined;

  constructor(setting: ProcessSetting, output: JobOutput) {
    this.#setting = setting;
    this.#output = output;
    this.#results = new ResultReader(setting);
    this.#files = new ResultFiles(setting);
    const { lake } = setting;
    if (lake === undefined) return;
    this.#opened = { shown: lake, source: this.#open(lake) };
    this.#opened.source.catch(() => {});
  }

  /** Resolves when what the first job needs is open, or could not be opened. */
  async ready(): Promise<void> {
    await Promise.allSettled([this.#opened?.source, this.#files.ready()]);
  }

  /** @throws an error of the job. */
  async perform(job: Job, { verified, resultBytes }: JobStart): Promise<void> {
    switch (job.kind) {
      case "run":
        return this.#run(job, verified, resultBytes);
      case "page":
        return this.#page(job, verified);
      case "rows":
        return this.#output.piece(await this.#results.rows(job));
      case "export":
        return this.#results.write(job);
    }
  }

  async #run(
    { lake, notebook, given, requested }: RunJob,
    verified: VerifiedFiles,
    resultBytes: number,
  ): Promise<void> {
    const { piece, note } = this.#output;
    using source = await this.#sourceOf(lake, verified);
    const onStored = (result: StoredResult): void => note({ kind: "stored", result });
    const engine = sandboxedEngine(await this.#files.storing(source.reader.session, resultBytes, onStored));
    const use = {
      clock: systemClock,
      requested,
      taken: () => this.#files.take(),
      onCell: ({ line }: { readonly line: number }) => note({ kind: "cell", line }),
    };
    for await (const line of notebookLines(engine, notebook, given, use)) {
      // The process may be killed in the next cell.
      source.noteVerified();
      await piece(lineText(line));
    }
  }

  async #page({ lake, notebook, given, asOf, madeAt }: PageJob, verified: VerifiedFiles): Promise<void> {
    using source = await this.#sourceOf(lake, verified);
    const { session, snapshots } = source.reader;
    const facts = { snapshots, asOf, madeAt };
    const page = await madePage(sandboxedEngine(session), notebook, given, facts);
    source.noteVerified();
    for (let at = 0; at < page.length; at += PIECE) await this.#output.piece(page.slice(at, at + PIECE));
  }

  /** A session over a lake's versions: the one that was opened before, if it has the same versions. */
  async #sourceOf(shown: ShownLake, verified: VerifiedFiles): Promise<Source> {
    const opened = this.#opened;
    this.#opened = undefined;
    // Where it could not be opened, the reason may be gone.
    const before = await opened?.source.catch(() => undefined);
    const isSame = before !== undefined && isDeepStrictEqual(opened?.shown, shown);
    if (!isSame) {
      before?.noteVerified();
      before?.[Symbol.dispose]();
    }
    const source = isSame ? before : await this.#open(shown);
    source.addVerified(verified);
    return source;
  }

  async #open({ location, views, pointInTime }: ShownLake): Promise<Source> {
    const { limits, spill, patience, verified } = this.#setting;
    // The workspace has reported the faults of the user's views when it created them itself.
    const userViews = views === undefined ? {} : { userViews: { folder: views, onFault: () => {} } };
    const lake = new Lake(location, { ...userViews, ...(patience && { patience }), hasDatabase: false });
    addVerified(lake, verified);
    let known = verifiedCounts(lake);
    const noteVerified = (): void => {
      const files = verifiedOf(lake, known);
      known = verifiedCounts(lake);
      if (files.content.length + files.footers.length > 0) this.#output.note({ kind: "verified", files });
    };
    const reader = await openLocked(lake, limits, pointInTime, spill);
    return {
      reader,
      addVerified: (files) => {
        // What was verified while the lake was opened.
        noteVerified();
        addVerified(lake, files);
        known = verifiedCounts(lake);
      },
      noteVerified,
      [Symbol.dispose]: () => reader[Symbol.dispose](),
    };
  }
}
