import type { Lake } from "../lake.js";
import type { SegmentPlace } from "../segments/segment-folder.js";
import { buildSqlCopy } from "./build-sql-copy.js";
import type { CopyKind, SqlCopyFile } from "./sql-copy.js";

/** Builds copies for SQL in the background. It is a class because it owns the running build. */
export class SqlCopyBuilder implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #place: SegmentPlace;
  readonly #onBuilt: () => void;
  readonly #stop = new AbortController();
  /** Copies that were missed once, or that this process has tried to build, by path. */
  readonly #missed = new Map<string, "once" | "ordered">();
  #building: Promise<void> | undefined;

  /** @param onBuilt called when a copy may have become available. */
  constructor(lake: Lake, place: SegmentPlace, onBuilt: () => void) {
    this.#lake = lake;
    this.#place = place;
    this.#onBuilt = onBuilt;
  }

  /**
   * Records that a query could have used a copy. The second such query starts its build: a program with one query needs
   * none.
   */
  note({ path, kind }: SqlCopyFile): void {
    const known = this.#missed.get(path);
    if (known === undefined) this.#missed.set(path, "once");
    else if (known === "once" && this.#building === undefined) {
      this.#missed.set(path, "ordered");
      // The next query reads the data files. If these are damaged, that query reports it.
      this.#start(kind).catch(() => {});
    }
  }

  /** Builds a copy of the newest state, and waits until it is finished. */
  async build(kind: CopyKind): Promise<void> {
    await this.#building?.catch(() => {});
    await this.#start(kind);
  }

  /** Stops building. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#building?.catch(() => {});
  }

  #start(kind: CopyKind): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    this.#building = buildSqlCopy(this.#lake, this.#place, kind, this.#stop.signal)
      .then(this.#onBuilt)
      .finally(() => {
        this.#building = undefined;
      });
    return this.#building;
  }
}
