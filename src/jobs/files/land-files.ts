import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { RejectCount, Rejects } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import type { Txn } from "../../lake/log/delta-actions.js";
import type { Fence } from "../../lake/log/fence.js";
import { runImport } from "../import/run-import.js";
import type { RunContext } from "../run/run-context.js";
import type { FoundFile, ReadContent } from "./file-source.js";
import type { FilesPipeline, OpenPipeline } from "./files-pipeline.js";
import { recordLanded } from "./landed-files.js";

export interface FileToLand {
  readonly file: FoundFile;
  readonly content: ReadContent;
}

export interface LandedBatch {
  readonly landed: readonly FileToLand[];
  readonly refused: readonly (FileToLand & { readonly reason: string })[];
  readonly changed: readonly FileToLand[];
  readonly tables: readonly LandReport[];
  readonly rejected: readonly RejectCount[];
  /** Sentences about what may be wrong in the files, each with a file. */
  readonly remarks: readonly string[];
}

export interface FilesRun extends Pick<RunContext, "lake" | "clock" | "runId" | "signal"> {
  readonly pipeline: FilesPipeline;
  readonly fence: Fence;
}

interface FilesLanding extends FilesRun {
  /** Distinguishes the commits of a run, from 1. */
  readonly part: number;
  readonly onFile: (done: number) => void;
}

class FilesChanged extends Error {
  readonly names: ReadonlySet<string>;

  constructor(names: ReadonlySet<string>) {
    super("files were changed while they were read");
    this.names = names;
  }
}

/**
 * Lands files in one commit, with the records that they have landed. Where some are changed while they are read, the
 * others land without them.
 */
export async function landFiles(
  landing: FilesLanding,
  open: OpenPipeline,
  batch: readonly FileToLand[],
): Promise<LandedBatch> {
  const changed: FileToLand[] = [];
  for (let left = batch; left.length > 0; ) {
    try {
      return { ...(await landOnce(landing, open, left)), changed };
    } catch (error) {
      if (!(error instanceof FilesChanged)) throw error;
      const isChanged = ({ file }: FileToLand): boolean => error.names.has(file.name);
      changed.push(...left.filter(isChanged));
      left = left.filter((one) => !isChanged(one));
    }
  }
  return { landed: [], refused: [], changed, tables: [], rejected: [], remarks: [] };
}

async function landOnce(
  { pipeline, lake, clock, runId, part, fence, signal, onFile }: FilesLanding,
  open: OpenPipeline,
  batch: readonly FileToLand[],
): Promise<Omit<LandedBatch, "changed">> {
  const { source, landed, plan, options } = open;
  const { table } = pipeline;
  const { root, location } = source;
  const shown = (text: string): string => (root === location ? text : text.replaceAll(root, location));
  const reasons = new Map<string, string>();
  const landing = (): FileToLand[] => batch.filter(({ content }) => !reasons.has(content.path));
  const records = (): Txn[] =>
    landing().flatMap(({ file, content }) => landed.recordsOf(file.name, content.sha256));
  const report = await runImport(
    lake,
    table,
    batch.map(({ content }) => content.path),
    {
      ...options,
      plan,
      runId,
      signal,
      part: {
        rejectsName: part === 1 ? runId : `${runId}.${part}`,
        onRefused: (path, reason) => reasons.set(path, shown(reason)),
        async beforeLanding() {
          const names = new Set<string>();
          // What is read of a store is a copy.
          if (source.hasTags) return;
          for (const { file } of batch)
            if (!isSame(file, await source.find(file.name).catch(() => undefined))) names.add(file.name);
          if (names.size > 0) throw new FilesChanged(names);
        },
        records,
        beforeSaving: (rejects, session) => nameSources(rejects, session, { root, location }),
        fence,
      },
    },
    clock,
    onFile,
  );
  await recordLanded(lake, table, records(), { runId, now: clock.now(), fence });
  for (const { file, content } of landing()) landed.landed(file.name, content.sha256);
  return {
    landed: landing(),
    refused: batch.flatMap((one) => {
      const reason = reasons.get(one.content.path);
      return reason === undefined ? [] : [{ ...one, reason }];
    }),
    tables: report.landed,
    rejected: report.rejected
      .filter(({ rule }) => rule !== "unreadable_file")
      .map((one) => ({ ...one, source: shown(one.source), reason: shown(one.reason) })),
    remarks: report.remarks.map(shown),
  };
}

export function isSame(listed: FoundFile, now: FoundFile | undefined): boolean {
  return now !== undefined && now.size === listed.size && now.stamp === listed.stamp;
}

/** Names the place of files in what was set aside of them, instead of the folder with their copies. */
async function nameSources(
  rejects: Rejects,
  session: Session,
  { root, location }: Pick<OpenPipeline["source"], "root" | "location">,
): Promise<void> {
  if (root === location) return;
  const named = (column: string): string => `replace(${column}, ${literal(root)}, ${literal(location)})`;
  await rejects.amend(async (table) => {
    await session.run(`UPDATE ${table} SET source = ${named("source")}, reason = ${named("reason")}`);
  });
}
