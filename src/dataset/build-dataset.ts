import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../core/errors.js";
import { dateOfEpochDay, parseTradingDate } from "../core/time.js";
import type { Known } from "../db/market/known-sql.js";
import type { UnvouchedCloses, VouchedDays } from "../db/market/unvouched-closes.js";
import { interruptOn } from "../db/session/session.js";
import { ownViewFiles, readViewFiles } from "../db/views/view-files.js";
import { knownOf, type Lake, type PointInTime } from "../lake/lake.js";
import { ENGINE } from "../lake/log/commit-actions.js";
import type { DataFile, Snapshot } from "../lake/log/snapshot.js";
import { openReader } from "../lake/open-reader.js";
import type { Storage } from "../lake/storage/storage.js";
import { REGIONS } from "../market/regions.js";
import { addBlock, emptyHistory } from "./cells/cells.js";
import type { WriterPlace } from "./formats/dataset-writer.js";
import { blocksFor, WRITERS } from "./formats/writers.js";
import { type BlockOptions, rowsOf } from "./panel/block.js";
import { type Coverage, coverageOf } from "./panel/coverage.js";
import { type LakePanel, openPanel } from "./panel/lake-panel.js";
import { warningsOf } from "./panel/panel-warnings.js";
import type { DatasetSpec } from "./spec.js";
import { DatasetFiles, DIGESTS, EARLIER_FAULT } from "./store/dataset-files.js";
import { continueFolder, folderOf, makeFolder } from "./store/dataset-folder.js";
import {
  type BuildClaim,
  claimPrefix,
  expectPlace,
  putDataset,
  refuseForeignFiles,
} from "./store/dataset-prefix.js";
import { HISTORY, historyBytes } from "./store/history-file.js";
import {
  hasHistory,
  isContinuedFormat,
  isContinuedInPlace,
  type Kept,
  keptFiles,
  pastDigest,
} from "./store/kept-files.js";
import { barsFrom, barsSince, refuseChangedPast, sourcesOf, verifySources } from "./store/lake-changes.js";
import { MANIFEST, type Manifest, manifestOf, readManifest } from "./store/manifest.js";

/** Most memory of a database where none is given. */
const MEMORY = "1GB";

/** The progress of a build. */
export interface BuildProgress {
  /** Symbols written so far, of how many, and their rows. */
  readonly symbols: number;
  readonly of: number;
  readonly rows: number;
}

/** How a dataset is built: from which versions of the lake, in which format and folder. */
export interface BuildOptions {
  /** The lake as of this point in time. @default its newest version */
  readonly pointInTime?: PointInTime;
  /** What to do with an existing dataset: `refuse`, `append` days to it, or `replace` it. @default "refuse" */
  readonly existing?: "refuse" | "append" | "replace";
  /**
   * Most memory of a database of DuckDB, in its notation. `long-parquet` and `symbol-parquet` have a second one for
   * their files, with the same limit. @default "1GB"
   */
  readonly memoryLimit?: string;
  /** Compares the lake's files with the hashes in their names before reading them. @default true */
  readonly verify?: boolean;
  readonly onProgress?: (progress: BuildProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

/** What was built. */
export interface BuildReport extends Manifest {
  readonly folder: string;
  readonly newRows: number;
}

/**
 * Builds a dataset: its files, their digests, and a manifest. It appears, or replaces the old one, only when it is
 * complete; days are appended to qlib's files in their place, and are read when its calendar is replaced. @throws {UsageError} for a spec that the lake cannot fulfil; for an existing dataset that may not be
 * replaced, or has files of somebody else in its folder; for appending where existing days would change; the signal's
 * reason once it aborts. @throws {LakeError} for a file of the lake that is missing or damaged.
 */
export async function buildDataset(
  lake: Lake,
  spec: DatasetSpec,
  options: BuildOptions = {},
): Promise<BuildReport> {
  return buildOfBlocks(lake, spec, options, blocksFor(spec));
}

/** As {@link buildDataset}, with other blocks than those of the format: tests have small ones. */
export async function buildOfBlocks(
  lake: Lake,
  spec: DatasetSpec,
  options: BuildOptions,
  blocks: BlockOptions,
): Promise<BuildReport> {
  const folder = folderOf(lake, spec);
  const { existing = "refuse", pointInTime = {}, memoryLimit = MEMORY, signal } = options;
  if (existing === "append" && pointInTime.knownAt !== undefined)
    throw new UsageError("a dataset of what was known at a time cannot be continued", {
      hint: "build it again, or leave out the time",
    });
  const storage = lake.storageAt(folder);
  const isLocal = storage.access === undefined;
  const isThere = await expectPlace(storage, {
    name: spec.name,
    existing,
    inPlace: isContinuedInPlace(spec),
  });
  const { session, snapshots } = await openReader(lake, { memoryLimit, verify: false }, pointInTime);
  using reader = session;
  using _ = interruptOn(reader, signal);
  const earlier =
    isThere && existing === "append"
      ? await refuseChangedPast(lake, spec, folder, { pointInTime, snapshots, memoryLimit, signal })
      : undefined;
  const verifies = options.verify !== false;
  // What was made of files that nobody verified is made again by a build that verifies them.
  const mayContinue =
    earlier !== undefined &&
    isLocal &&
    isContinuedFormat(spec) &&
    earlier.views === viewsDigest(lake) &&
    (earlier.verified === true || !verifies);
  const isNew = mayContinue ? await barsSince(lake, earlier, snapshots) : undefined;
  const verify = async (bars?: (file: DataFile) => boolean): Promise<void> => {
    if (verifies) await verifySources(lake, snapshots, spec, { signal, bars });
  };
  let claim: BuildClaim | undefined;
  /** Whether files of the dataset are changed in their place: then the mark stays until they are complete. */
  let isChanged = false;
  try {
    const opening = openPanel(reader, spec, blocks);
    opening.catch(() => {});
    try {
      // An append may read only the bars of some files: these are known later.
      await verify(isNew);
    } finally {
      // A damaged file may also fail the panel: this error comes first, as it names the file.
      await opening.catch(() => (isNew ? verify() : undefined));
    }
    options.signal?.throwIfAborted();
    const panel = await opening;
    if (mayContinue && isContinuedInPlace(spec)) claim = await claimUnchanged(storage, earlier);
    let kept: Kept | undefined;
    try {
      if (mayContinue && panel.axes.names === undefined)
        kept = await keptFiles(reader, panel, { folder, manifest: earlier });
    } finally {
      await verify(kept?.since === undefined ? undefined : barsFrom(kept.since));
    }
    const writeOf =
      (some: Kept | undefined) =>
      async (draft: string): Promise<Manifest> => {
        const writing = await writeFiles(panel, draft, { reader, lake, options, earlier, kept: some });
        const known = knownOf(pointInTime);
        return await writeManifest(panel, draft, { ...writing, lake, snapshots, known, verified: verifies });
      };
    const replace = existing !== "refuse";
    const expectReplaceable = async (): Promise<void> => {
      await refuseForeignFiles(storage);
      // Where nothing is, nothing is replaced: a mark would make a folder that is no dataset.
      if (existsSync(folder)) claim ??= await claimPrefix(storage, { replace: existing === "replace" });
    };
    const make = (some: Kept | undefined): Promise<Manifest> => {
      if (some?.continued === undefined)
        return makeFolder(folder, { replace, expectReplaceable }, writeOf(some));
      isChanged = true;
      return continueFolder(folder, writeOf(some));
    };
    const manifest = isLocal
      ? await make(kept).catch(async (error: unknown) => {
          if ((error as NodeJS.ErrnoException).code !== EARLIER_FAULT) throw error;
          // An earlier file is damaged: everything is written again.
          await verify();
          return make(undefined);
        })
      : await putDataset(storage, lake.work, { replace, signal }, writeOf(undefined));
    // It is complete: a mark that could not be removed is replaced by the next build.
    await claim?.release().catch(() => {});
    return { ...manifest, folder, newRows: manifest.rows - (earlier?.rows ?? 0) };
  } catch (error) {
    await (isChanged ? claim?.fail() : claim?.release())?.catch(() => {});
    // The caller aborted: its reason says more than the error of the interrupted statement.
    options.signal?.throwIfAborted();
    throw error;
  } finally {
    claim?.abandon();
  }
}

/**
 * Claims the folder of a dataset that is to be continued in its place. @param earlier its manifest, as it was read
 * before. @throws {UsageError} where another build has changed it since, or is about to.
 */
async function claimUnchanged(storage: Storage, { name, createdAt, content }: Manifest): Promise<BuildClaim> {
  const claim = await claimPrefix(storage, { replace: false });
  const now = await readManifest(storage).catch(() => undefined);
  if (now?.createdAt === createdAt && now.content === content) return claim;
  await claim.release();
  claim.abandon();
  throw new UsageError(`dataset ${name}: another process has changed it meanwhile`, {
    hint: "append again",
  });
}

interface WrittenDataset {
  readonly files: DatasetFiles;
  readonly rows: number;
  readonly coverage: Coverage | undefined;
  readonly unvouched: UnvouchedCloses | undefined;
  readonly warnings: readonly string[];
}

async function writeFiles(
  panel: LakePanel,
  draft: string,
  {
    reader,
    options,
    lake,
    kept,
    earlier,
  }: {
    readonly reader: WriterPlace["session"];
    readonly options: BuildOptions;
    readonly lake: Lake;
    readonly kept: Kept | undefined;
    readonly earlier: Manifest | undefined;
  },
): Promise<WrittenDataset> {
  const { spec, axes } = panel;
  const files = new DatasetFiles(draft, options.signal, kept?.continued?.files);
  const continued = earlier?.coverage && { coverage: earlier.coverage, last: earlier.last };
  const coverage = await coverageOf(reader, panel, continued);
  const { texts: warnings, unvouched } = await warningsOf(reader, panel, {
    coverage,
    vouched: kept && vouchedBy(earlier, panel),
    hasExEvent: (kept?.history.factors.changes.symbol.length ?? 0) > 0,
  });
  const scratch = join(draft, ".scratch");
  await mkdir(scratch);
  using session = await reader.sibling();
  const zone = REGIONS[axes.calendar[0] ?? "CN"].zone;
  const writer = WRITERS[spec.format]({
    spec,
    shape: panel,
    zone,
    files,
    continued: kept?.continued?.last,
    session,
    scratch,
    warn: (text) => warnings.push(text),
    lake,
    memoryLimit: options.memoryLimit ?? MEMORY,
    signal: options.signal,
  });
  const of = panel.symbols.length;
  let symbols = 0;
  let rows = kept?.rows ?? 0;
  const ruleOf = kept === undefined && hasHistory(panel) ? panel.ruleOf : undefined;
  const history = ruleOf ? emptyHistory(panel.symbols.map(ruleOf)) : kept?.history;
  try {
    if (kept) await files.putAll(kept.files);
    for await (const block of panel.blocks(kept?.ranges, options.signal)) {
      options.signal?.throwIfAborted();
      rows += rowsOf(block);
      if (history && kept === undefined) addBlock(history, block);
      await writer.write(block);
      symbols = block.start + block.symbols.length;
      options.onProgress?.({ symbols, of, rows });
    }
    // Blocks whose files are all kept are not read.
    if (symbols < of) options.onProgress?.({ symbols: of, of, rows });
    await writer.finish();
    await files.settle();
    if (history) files.put(HISTORY, historyBytes(history));
    options.signal?.throwIfAborted();
  } finally {
    await writer.close?.();
    await files.close();
  }
  await rm(scratch, { recursive: true, force: true });
  return { files, rows, coverage, unvouched, warnings };
}

/** What an earlier dataset says of its days, of which it is known that they are those of the panel. */
function vouchedBy(earlier: Manifest | undefined, { symbols }: LakePanel): VouchedDays | undefined {
  if (earlier?.unvouched === undefined) return undefined;
  const known = new Set(earlier.symbols);
  const added = symbols.flatMap(({ symbol }) => (known.has(symbol) ? [] : [symbol]));
  return { last: parseTradingDate(earlier.last), found: earlier.unvouched, added };
}

async function writeManifest(
  panel: LakePanel,
  draft: string,
  facts: WrittenDataset & {
    readonly lake: Lake;
    readonly snapshots: readonly Snapshot[];
    readonly known: Known | undefined;
    readonly verified: boolean;
  },
): Promise<Manifest> {
  const { spec, labels, symbols } = panel;
  const list = facts.files.list();
  await writeFile(join(draft, DIGESTS), list.text);
  const manifest = manifestOf({
    name: spec.name,
    spec,
    engine: ENGINE,
    createdAt: new Date(facts.lake.clock.now()).toISOString(),
    lake: facts.lake.storage.location,
    tables: Object.fromEntries(facts.snapshots.map(({ table, version }) => [table.name, version])),
    ...facts.known,
    views: viewsDigest(facts.lake),
    first: dateOfEpochDay(labels.days[0] as number),
    last: dateOfEpochDay(labels.days[labels.count - 1] as number),
    labels: labels.count,
    symbols: symbols.map(({ symbol }) => symbol),
    rows: facts.rows,
    files: list.files,
    bytes: list.bytes,
    content: createHash("sha256").update(list.text).digest("hex"),
    past: pastDigest(panel, labels.count),
    sources: sourcesOf(facts.snapshots),
    verified: facts.verified,
    ...(facts.coverage && { coverage: facts.coverage }),
    ...(facts.unvouched && { unvouched: facts.unvouched }),
    warnings: facts.warnings,
  });
  const file = await open(join(draft, MANIFEST), "w");
  await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
  await file.sync();
  await file.close();
  return manifest;
}

/** The digest of all views' SQL: while it is the same, the same spec and versions give the same bytes. */
export function viewsDigest(lake: Lake): string {
  const files = [...ownViewFiles(), ...(lake.userViews ? readViewFiles(lake.userViews.folder) : [])];
  const digest = createHash("sha256");
  for (const { sql } of files) digest.update(sql).update("\0");
  return digest.digest("hex");
}
