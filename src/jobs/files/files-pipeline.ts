import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { compareText } from "../../core/text-order.js";
import { DAY_MS } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { WorkFolder } from "../../lake/local/work-folder.js";
import type { ImportOptions } from "../import/import-options.js";
import { loadPlan, type SavedPlan } from "../import/plan/import-plan.js";
import { ledgerSql } from "../ledger/ledger.js";
import type { Pipeline } from "../pipeline/definition.js";
import { type FileSource, type FoundFile, openFileSource } from "./file-source.js";
import { LandedFiles, type RefusedFile, refusedFiles } from "./landed-files.js";
import { namePattern } from "./name-pattern.js";

const seenShape = z.object({
  from: z.string(),
  files: z.record(
    z.string(),
    z.object({ size: z.number(), stamp: z.string(), sha256: z.string(), at: z.number() }),
  ),
});
type Seen = z.output<typeof seenShape>["files"][string];

/**
 * A file that was changed so shortly before it was read may have been changed once more since, with the same times: file
 * systems count in steps of up to two seconds.
 */
const STEP_MS = 2000;
/** Age of a hash after which a file is read again although its stamp is the same. */
const READ_AGAIN_MS = 7 * DAY_MS;

/**
 * The hashes of a pipeline's files as this machine last read them, so that unchanged files need not be read by each run.
 * Only a file whose stamp is the same has them, and of a disk's files only one that was left alone for some time before
 * it was read; after a week each is read again. It is only a cache: what has landed is in the log of the table.
 */
export class SeenFiles {
  readonly #path: string;
  readonly #from: string;
  readonly #source: FileSource;
  readonly #files: Map<string, Seen>;
  #isChanged = false;

  private constructor(path: string, from: string, source: FileSource, files: Map<string, Seen>) {
    this.#path = path;
    this.#from = from;
    this.#source = source;
    this.#files = files;
  }

  /** Reads the cache; one that cannot be read, or is of another place, is empty. */
  static async load(
    work: WorkFolder,
    { name, from }: { readonly name: string; readonly from: string },
    source: FileSource,
  ): Promise<SeenFiles> {
    const path = join(work.path, "seen", `${name}.json`);
    try {
      const seen = seenShape.parse(JSON.parse(await readFile(path, "utf8")));
      if (seen.from === from) return new SeenFiles(path, from, source, new Map(Object.entries(seen.files)));
    } catch {
      // It is written again.
    }
    return new SeenFiles(path, from, source, new Map());
  }

  /** The hash of a file, where it is certain without reading it. @param now epoch milliseconds. */
  hashOf({ name, size, stamp, changedAt }: FoundFile, now: number): string | undefined {
    const seen = this.#files.get(name);
    if (seen === undefined || seen.size !== size || seen.stamp !== stamp) return undefined;
    if (this.#source.hasTags) return stamp.startsWith(" ") ? undefined : seen.sha256;
    const wasQuiet = seen.at - changedAt > STEP_MS;
    return wasQuiet && Math.abs(now - seen.at) < READ_AGAIN_MS ? seen.sha256 : undefined;
  }

  /** Notes the hash of a file. @param at when the reading of it began, in epoch milliseconds. */
  note({ name, size, stamp }: FoundFile, sha256: string, at: number): void {
    this.#files.set(name, { size, stamp, sha256, at });
    this.#isChanged = true;
  }

  /** Forgets the files that are not among those of a list. */
  keepOnly(files: readonly FoundFile[]): void {
    const names = new Set(files.map(({ name }) => name));
    for (const name of this.#files.keys())
      if (!names.has(name)) {
        this.#files.delete(name);
        this.#isChanged = true;
      }
  }

  /** Writes the cache. If that fails, the next run reads all files. */
  async save(): Promise<void> {
    if (!this.#isChanged) return;
    const text = JSON.stringify({ from: this.#from, files: Object.fromEntries(this.#files) });
    try {
      await mkdir(join(this.#path, ".."), { recursive: true });
      await writeFile(`${this.#path}.${process.pid}`, text);
      await rename(`${this.#path}.${process.pid}`, this.#path);
    } catch {
      // Nothing but time is lost.
    }
  }
}

export type FilesPipeline = Pipeline & { readonly kind: "files" };

export interface OpenPipeline extends AsyncDisposable {
  readonly source: FileSource;
  /** In the order of their names, which is the order in which they land. */
  readonly files: readonly FoundFile[];
  readonly landed: LandedFiles;
  readonly seen: SeenFiles;
  /** The files that are refused until they are changed or gone, by name. */
  readonly refused: ReadonlyMap<string, RefusedFile>;
  readonly plan: SavedPlan | undefined;
  readonly options: ImportOptions;
}

/**
 * Lists the files of a pipeline, and reads what the lake knows about them.
 *
 * @throws {UsageError} where the folder cannot be listed, or the plan cannot be read.
 */
export async function openPipeline(
  pipeline: FilesPipeline,
  lake: Lake,
  session: Session,
): Promise<OpenPipeline> {
  const { name, table, from, pattern } = pipeline;
  const plan = pipeline.plan === undefined ? undefined : await loadPlan(pipeline.plan, table);
  const options: ImportOptions = pipeline.options ?? {};
  const source = await openFileSource(from, namePattern(pattern), lake);
  try {
    const files = [...(await source.list())].sort((a, b) => compareText(a.name, b.name));
    const landed = await LandedFiles.read(lake, pipeline, options.exchange ?? plan?.options.exchange);
    const seen = await SeenFiles.load(lake.work, pipeline, source);
    const ledger = `(${await ledgerSql(session, lake)})`;
    const refused = await refusedFiles(session, ledger, { pipeline: name, dataset: table });
    return {
      source,
      files,
      landed,
      seen,
      refused: new Map(refused.map((one) => [one.file, one])),
      plan,
      options,
      [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
    };
  } catch (error) {
    await source[Symbol.asyncDispose]();
    throw error;
  }
}
