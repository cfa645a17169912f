import { compareText } from "../../core/text-order.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { ImportOptions } from "../import/import-options.js";
import { loadPlan, type SavedPlan } from "../import/plan/import-plan.js";
import { ledgerSql } from "../ledger/ledger-sql.js";
import type { Pipeline } from "../pipeline/definition.js";
import type { FileSource, FoundFile } from "./file-source.js";
import { LandedFiles } from "./landed-files.js";
import { namePattern } from "./name-pattern.js";
import { openFileSource } from "./open-file-source.js";
import { type RefusedFile, refusedFiles } from "./refused-files.js";
import { SeenFiles } from "./seen-files.js";

/** A pipeline of files. */
export type FilesPipeline = Pipeline & { readonly kind: "files" };

/** A pipeline of files that is open: its files, and what is known about them. */
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
