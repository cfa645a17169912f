import { Session } from "../../db/session/session.js";
import type { Lake } from "../lake.js";
import { spillOptions } from "../local/work-folder.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { buildSegment, identityOf } from "./build-segment.js";
import { DamagedSegment, ForeignSegment, SegmentFile } from "./segment-file.js";
import { type SegmentFolder, type SegmentPlace, segmentFolder } from "./segment-folder.js";

/** Most segments that are open at the same time. Each has a file descriptor, and its index in memory. */
const MOST_OPEN = 512;
/** Estimated bytes of a bar in a segment, and of a bar in a data file. */
const BAR_BYTES = 72;
const STORED_BAR_BYTES = 14;

/** Pause in milliseconds before a segment that no caller waits for. A process without other work can end during it. */
const PAUSE_MS = 20;

interface Order {
  readonly snapshot: Snapshot;
  readonly file: DataFile;
}

/**
 * Segments of a lake's bars on this machine: the bars of data files in a form from which those of a symbol are read
 * in microseconds. It is a cache: all its data is also in the data files, and it may be deleted at any time. If
 * something is wrong with a segment, the bars are read from the data file, and the segment is built again.
 *
 * A segment belongs to one data file, which never changes: so no segment becomes stale, versions of a table share the
 * segments of the files that they share, and a commit needs new segments only for the files that it adds.
 */
export class SegmentCache implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #folder: SegmentFolder;
  readonly #mostOpen: number;
  /** Open segments by path, the least recently used first. */
  readonly #open = new Map<string, SegmentFile>();
  /** The number of reads that run, and the segments that were dropped during them: a read may still use one. */
  #reads = 0;
  readonly #dropped: SegmentFile[] = [];
  /**
   * Paths of segments that this process does not try to build again: they cannot be built, there is not enough space,
   * or another user has one there.
   */
  readonly #refused = new Set<string>();
  readonly #orders = new Map<string, Order>();
  readonly #stop = new AbortController();
  #building: Promise<void> | undefined;
  #pause: NodeJS.Timeout | undefined;
  #waiting = 0;

  /** @param mostOpen segments that remain open between reads, and that one read may need. */
  constructor(lake: Lake, place: SegmentPlace, mostOpen = MOST_OPEN) {
    this.#lake = lake;
    this.#mostOpen = mostOpen;
    this.#folder = segmentFolder(place, lake.clock);
  }

  get isIdle(): boolean {
    return this.#building === undefined;
  }

  /** Most segments that one read may need. If a read needs more, the bars are read through the view. */
  get mostOpen(): number {
    return this.#mostOpen;
  }

  /** Begins a read: the segments that {@link find} gives remain open until it is disposed. */
  beginRead(): Disposable {
    this.#reads += 1;
    return {
      [Symbol.dispose]: () => {
        this.#reads -= 1;
        if (this.#reads === 0) for (const segment of this.#dropped.splice(0)) segment[Symbol.dispose]();
      },
    };
  }

  /**
   * The segment of a data file; undefined where there is none that can be used. Call it between the begin and end of a
   * read.
   */
  find(snapshot: Snapshot, file: DataFile): SegmentFile | undefined {
    const path = this.#folder.pathOf(snapshot, file);
    const known = this.#open.get(path);
    if (known !== undefined) {
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    if (this.#stop.signal.aborted) return undefined;
    try {
      const opened = SegmentFile.open(path, identityOf(snapshot, file));
      if (opened !== undefined) this.#add(path, opened);
      return opened;
    } catch (error) {
      // Other errors may be temporary: the system may be able to open the segment later.
      if (error instanceof DamagedSegment) this.#remove(path);
      if (error instanceof ForeignSegment) this.#refused.add(path);
      return undefined;
    }
  }

  /** Whether a data file has a segment. It is not opened. */
  has(snapshot: Snapshot, file: DataFile): boolean {
    const path = this.#folder.pathOf(snapshot, file);
    return this.#open.has(path) || this.#folder.has(path);
  }

  /** Deletes the segment of a data file, because it is damaged. */
  discard(snapshot: Snapshot, file: DataFile): void {
    this.#remove(this.#folder.pathOf(snapshot, file));
  }

  /**
   * Builds the segments of data files in the background, one after the other. A process without other work ends after
   * the segment that is being built.
   */
  order(snapshot: Snapshot, files: readonly DataFile[]): void {
    if (this.#stop.signal.aborted) return;
    for (const file of files) {
      const path = this.#folder.pathOf(snapshot, file);
      if (!this.#refused.has(path)) this.#orders.set(path, { snapshot, file });
    }
    if (this.#orders.size > 0) this.#building ??= this.#buildAll();
  }

  /** Builds the segments of data files that have none, and waits for all that are ordered. */
  async build(snapshot: Snapshot, files: readonly DataFile[]): Promise<void> {
    this.#waiting += 1;
    try {
      this.#pause?.ref();
      this.order(snapshot, files);
      await this.#building;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Stops building, and closes the segments. Those that are finished remain on the disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#orders.clear();
    this.#pause?.ref();
    await this.#building;
    for (const segment of this.#open.values()) segment[Symbol.dispose]();
    this.#open.clear();
  }

  #add(path: string, segment: SegmentFile): void {
    this.#open.set(path, segment);
    void this.#folder.noteUse(path);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= this.#mostOpen) return;
      this.#drop(oldest);
    }
  }

  #drop(path: string): void {
    const segment = this.#open.get(path);
    this.#open.delete(path);
    if (segment === undefined) return;
    if (this.#reads > 0) this.#dropped.push(segment);
    else segment[Symbol.dispose]();
  }

  #remove(path: string): void {
    this.#drop(path);
    this.#folder.remove(path);
  }

  async #buildAll(): Promise<void> {
    let session: Session | undefined;
    try {
      for (;;) {
        await this.#breathe();
        const [next] = this.#orders;
        if (next === undefined) return;
        const [path, order] = next;
        if (this.find(order.snapshot, order.file) === undefined) {
          try {
            session ??= await this.#openSession();
            await this.#buildOne(session, path, order);
          } catch {
            // The bars are then read from the data file. If that is damaged, its reader reports the damage.
            this.#refused.add(path);
            session?.close();
            session = undefined;
          }
        }
        this.#orders.delete(path);
      }
    } finally {
      session?.close();
      this.#building = undefined;
    }
  }

  async #buildOne(session: Session, path: string, { snapshot, file }: Order): Promise<void> {
    const rows = file.stats?.numRecords ?? file.size / STORED_BAR_BYTES;
    if (!(await this.#folder.freeSpaceFor(rows * BAR_BYTES))) {
      this.#refused.add(path);
      return;
    }
    const { signal } = this.#stop;
    await this.#folder.add(path, (target) =>
      buildSegment(session, this.#lake, snapshot, file, target, signal),
    );
  }

  async #openSession(): Promise<Session> {
    const options = {
      threads: 1,
      memoryLimit: "256MB",
      ...spillOptions(this.#lake.work),
      ...this.#lake.access,
    };
    const session = await Session.open(options);
    // Each data file is read once.
    await session.run("SET enable_external_file_cache = false");
    return session;
  }

  /**
   * Gives other work time to run. If no caller waits for segments and there is no other work, the process ends here.
   */
  #breathe(): Promise<void> {
    return new Promise((resolve) => {
      const isWaitedFor = this.#waiting > 0 || this.#stop.signal.aborted;
      this.#pause = setTimeout(resolve, isWaitedFor ? 0 : PAUSE_MS);
      if (!isWaitedFor) this.#pause.unref();
    });
  }
}
