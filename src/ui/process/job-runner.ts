import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../client/system-clock.js";
import { QueryError } from "../../core/errors.js";
import type { PlainValue } from "../../db/result/row-reader.js";
import { boundValues } from "../../db/session/named-values.js";
import {
  addVerified,
  type VerifiedFiles,
  verifiedCounts,
  verifiedOf,
} from "../../lake/files/verify-content.js";
import { knownOf, Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { lineText, madePage, notebookLines } from "../notebooks/run-lines.js";
import { ResultFiles, ResultReader } from "../results/result-files.js";
import { expectLakeOnly } from "../session/lake-only.js";
import { forbiddenBy, openLocked, sandboxedEngine } from "../session/open-locked.js";
import type {
  Job,
  JobNote,
  JobStart,
  PageJob,
  PlanJob,
  ProcessSetting,
  QueryAnswer,
  QueryJob,
  RunJob,
  ShownLake,
  StoredResult,
} from "./jobs.js";

interface JobOutput {
  /** Passes a piece on, and waits until it was taken. */
  readonly piece: (text: string) => Promise<void>;
  readonly note: (note: JobNote) => void;
}

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
 * first job needs is opened at once.
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
      case "query":
        return this.#query(job, verified);
      case "plan":
        return this.#plan(job, verified);
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
    const facts = { snapshots, pointInTime: { ...knownOf(lake.pointInTime), asOf }, madeAt };
    const page = await madePage(sandboxedEngine(session), notebook, given, facts);
    source.noteVerified();
    for (let at = 0; at < page.length; at += PIECE) await this.#output.piece(page.slice(at, at + PIECE));
  }

  async #query({ lake, sql, values, mostRows, mostBytes }: QueryJob, verified: VerifiedFiles): Promise<void> {
    using source = await this.#sourceOf(lake, verified);
    const { session } = source.reader;
    await expectLakeOnly(session, sql, values);
    const refused = forbiddenBy(sql);
    if (refused !== undefined) throw new QueryError(refused, sql);
    const reader = await session.read(sql, boundValues(values));
    const { columns } = reader;
    const rows: PlainValue[][] = [];
    let bytes = Buffer.byteLength(JSON.stringify(columns));
    if (bytes > mostBytes / 2)
      throw new QueryError(`it has ${columns.length} columns, whose names are too long for an answer`, sql, {
        hint: "name the columns that you need",
      });
    let isCut = false;
    while (!isCut) {
      const [row] = await reader.take(1);
      if (row === undefined) break;
      const shown = row.map((value, at) => numberOf(value, columns[at]?.type));
      bytes += Buffer.byteLength(JSON.stringify(shown)) + 1;
      isCut = rows.length === mostRows || bytes > mostBytes;
      if (!isCut) rows.push(shown);
    }
    await session.checkReads();
    source.noteVerified();
    const answer: QueryAnswer = { columns, rows, isCut };
    await this.#output.piece(JSON.stringify(answer));
  }

  async #plan({ lake, spec }: PlanJob, verified: VerifiedFiles): Promise<void> {
    // A panel sets how much DuckDB reads ahead. Of the spec's SQL nothing but a SELECT is run.
    using source = await this.#open(lake, { hasSettings: true });
    source.addVerified(verified);
    const { session } = source.reader;
    for (const field of spec.fields ?? [])
      if (typeof field !== "string") await expectLakeOnly(session, `SELECT (${field.sql}\n)`);
    const { universe } = spec;
    if (typeof universe === "object" && "sql" in universe) await expectLakeOnly(session, universe.sql);
    const { planDatasetIn } = await import("../../dataset/plan-dataset.js");
    const plan = await planDatasetIn(session, new Lake(lake.location), spec);
    await session.checkReads();
    source.noteVerified();
    await this.#output.piece(JSON.stringify(plan));
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

  async #open(
    { location, views, pointInTime }: ShownLake,
    { hasSettings = false }: { readonly hasSettings?: boolean } = {},
  ): Promise<Source> {
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
    const reader = await openLocked(lake, limits, pointInTime, { spillUnder: spill, hasSettings });
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

const EXACT = /^(U?(BIG|HUGE)INT|DECIMAL\(.*\))$/;

/** A number for the text of an exact number, where the number has all of its digits; otherwise the text. */
function numberOf(value: PlainValue, type = ""): PlainValue {
  if (typeof value !== "string" || !EXACT.test(type)) return value;
  const digits = value.replace(/^-?0*|[.]/g, "").length;
  return digits <= 15 ? Number(value) : value;
}
