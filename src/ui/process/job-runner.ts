import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../client/system-clock.js";
import { Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { lineText } from "../notebooks/line-text.js";
import { madePage } from "../notebooks/made-page.js";
import { notebookLines } from "../notebooks/run-lines.js";
import { ResultFiles } from "../results/result-files.js";
import { ResultReader } from "../results/result-reader.js";
import { openLocked } from "../session/open-locked.js";
import { sandboxedEngine } from "../session/sandboxed-engine.js";
import type { Job, JobNote, PageJob, ProcessSetting, RunJob, ShownLake, StoredResult } from "./jobs.js";

/** Where the output of a job goes. */
export interface JobOutput {
  /** Passes a piece on, and waits until it was taken. */
  readonly piece: (text: string) => Promise<void>;
  readonly note: (note: JobNote) => void;
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
  #opened: { readonly lake: ShownLake; readonly reader: Promise<Reader> } | undefined;

  constructor(setting: ProcessSetting, output: JobOutput) {
    this.#setting = setting;
    this.#output = output;
    this.#results = new ResultReader(setting);
    this.#files = new ResultFiles(setting);
    const { lake } = setting;
    if (lake === undefined) return;
    this.#opened = { lake, reader: this.#open(lake) };
    this.#opened.reader.catch(() => {});
  }

  /** @throws an error of the job. */
  async perform(job: Job): Promise<void> {
    switch (job.kind) {
      case "run":
        return this.#run(job);
      case "page":
        return this.#page(job);
      case "rows":
        return this.#output.piece(await this.#results.rows(job));
      case "export":
        return this.#results.write(job);
    }
  }

  async #run({ lake, notebook, given, requested, room }: RunJob): Promise<void> {
    const { piece, note } = this.#output;
    using reader = await this.#readerOf(lake);
    const onStored = (result: StoredResult): void => note({ kind: "stored", result });
    const engine = sandboxedEngine(await this.#files.storing(reader.session, room, onStored));
    const use = {
      clock: systemClock,
      requested,
      taken: () => this.#files.take(),
      onCell: ({ line }: { readonly line: number }) => note({ kind: "cell", line }),
    };
    for await (const line of notebookLines(engine, notebook, given, use)) await piece(lineText(line));
  }

  async #page({ lake, notebook, given, asOf, madeAt }: PageJob): Promise<void> {
    using reader = await this.#readerOf(lake);
    const { snapshots } = reader;
    const facts = { snapshots, asOf, madeAt };
    const page = await madePage(sandboxedEngine(reader.session), notebook, given, facts);
    for (let at = 0; at < page.length; at += PIECE) await this.#output.piece(page.slice(at, at + PIECE));
  }

  /** A session over a lake's versions: the one that was opened before, if it has the same versions. */
  async #readerOf(lake: ShownLake): Promise<Reader> {
    const opened = this.#opened;
    this.#opened = undefined;
    // Where it could not be opened, the reason may be gone.
    const reader = await opened?.reader.catch(() => undefined);
    if (reader !== undefined && isDeepStrictEqual(opened?.lake, lake)) return reader;
    reader?.[Symbol.dispose]();
    return this.#open(lake);
  }

  #open({ location, views, pointInTime }: ShownLake): Promise<Reader> {
    const { limits, spill } = this.#setting;
    // The workspace has reported the faults of the user's views when it created them itself.
    const userViews = views === undefined ? {} : { userViews: { folder: views, onFault: () => {} } };
    const lake = new Lake(location, { ...userViews, hasDatabase: false });
    return openLocked(lake, limits, pointInTime, spill);
  }
}
