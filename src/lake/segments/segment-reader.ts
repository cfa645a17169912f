import { rowsOfFiles } from "../files/prune.js";
import type { Lake } from "../lake.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import type { Bars, BarsDemand } from "./block.js";
import { BlockThread } from "./block-thread.js";
import { readBars, segmentPlan } from "./read-bars.js";
import { SegmentCache } from "./segment-cache.js";
import type { SegmentPlace } from "./segment-folder.js";

/**
 * If the missing segments have fewer rows than this in total, as those of the newest commit may, they are built while
 * the read waits.
 */
const ROWS_AT_ONCE = 20_000;
/** The segment of a file with more rows than this is built only when the file is needed for the second time. */
const MANY_ROWS = 2_000_000;

/**
 * What a read found: bars, or a function that makes them available to later reads; neither where only the view has
 * them.
 */
export interface SegmentBars {
  readonly bars?: Bars;
  /** Builds the missing segments in the background. Call it after the bars have been read in another way. */
  readonly buildMissing?: () => void;
}

/** How many data files have a segment. */
export interface BuiltSegments {
  readonly files: number;
  /**
   * Fewer than `files` where there was no space for more, files are damaged, or bars are in a form that only the view
   * reads: they are read from the data files.
   */
  readonly built: number;
}

export class SegmentReader implements AsyncDisposable {
  readonly #cache: SegmentCache;
  readonly #thread: BlockThread | undefined;
  /** Large files without a segment that were needed once. */
  readonly #neededOnce = new WeakSet<DataFile>();

  /** @param options.thread whether a thread reads the blocks of large results, for a service with many requests. */
  constructor(lake: Lake, place: SegmentPlace, { thread = false }: { readonly thread?: boolean } = {}) {
    this.#cache = new SegmentCache(lake, place);
    this.#thread = thread ? new BlockThread() : undefined;
  }

  async read(snapshot: Snapshot, demand: BarsDemand): Promise<SegmentBars> {
    let found = await readBars(this.#cache, snapshot, demand, this.#thread);
    if (
      found.missing &&
      found.isPartial === true &&
      this.#cache.isIdle &&
      rowsOfFiles(found.missing) <= ROWS_AT_ONCE
    ) {
      await this.#cache.build(snapshot, found.missing);
      found = await readBars(this.#cache, snapshot, demand, this.#thread);
    }
    const { bars, missing } = found;
    if (bars !== undefined) return { bars };
    return missing === undefined ? {} : { buildMissing: () => this.#order(snapshot, missing) };
  }

  /** Builds the segments of all files of a version that have none, the newest days first. */
  async buildAll(snapshot: Snapshot): Promise<BuiltSegments> {
    const planned = [...(segmentPlan(snapshot)?.values() ?? [])].flat();
    const files = planned.sort((a, b) => b.firstDay - a.firstDay).map(({ file }) => file);
    await this.#cache.build(snapshot, files);
    const built = files.filter((file) => this.#cache.has(snapshot, file));
    return { files: snapshot.files.size, built: built.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
    await this.#cache[Symbol.asyncDispose]();
  }

  #order(snapshot: Snapshot, missing: readonly DataFile[]): void {
    const ordered = missing.filter((file) => rowsOfFiles([file]) <= MANY_ROWS || this.#neededOnce.has(file));
    for (const file of missing) this.#neededOnce.add(file);
    this.#cache.order(snapshot, ordered);
  }
}
