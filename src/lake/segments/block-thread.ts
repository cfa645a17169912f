import { Worker } from "node:worker_threads";
import { messageOf } from "../../core/errors.js";
import { MemoryPool } from "../../core/memory-pool.js";

/** A block to read: an open file, the place of the block in it in bytes, and its CRC-32. */
export interface BlockPlace {
  readonly descriptor: number;
  readonly offset: number;
  readonly length: number;
  readonly checksum: number;
}

/** Blocks that were read, one after the other in the same memory, in the order of the places. */
export interface ReadBlocks {
  readonly memory: ArrayBuffer;
  /** The index of the first block that is not what was written, or cannot be read; -1 if there is none. */
  readonly failed: number;
  /** Why it failed. */
  readonly reason?: string | undefined;
}

/**
 * Most reads that the thread has at the same time; others wait. That is enough to keep it busy, and their memory stays
 * below the 64 MB with which V8 looks for garbage in the whole heap.
 */
const MOST_READS = 4;

/** What the thread is asked for. */
export interface BlockRequest {
  /** For the blocks, one after the other. */
  readonly memory: ArrayBuffer;
  /** Of each block four numbers: its descriptor, offset, length and checksum. */
  readonly places: Float64Array<ArrayBuffer>;
}

function startThread(): Worker {
  return new Worker(new URL("block-worker.js", import.meta.url), { execArgv: [] });
}

interface Waiting {
  readonly places: readonly BlockPlace[];
  readonly resolve: (blocks: ReadBlocks) => void;
  readonly reject: (error: Error) => void;
}

/** The error of a read whose thread has ended. The blocks can be read without it. */
export class ThreadEnded extends Error {
  override readonly name = "ThreadEnded";
}

/**
 * Reads blocks and verifies their checksums in a thread of its own: that is a third of the work of a response with
 * bars of the past, so that a service responds to others at the same time. It begins with the first read, and keeps
 * no process from ending.
 */
export class BlockThread implements AsyncDisposable {
  readonly #start: () => Worker;
  #worker: Worker | undefined;
  #hasEnded = false;
  /** Reads in flight, in the order in which the thread replies. */
  readonly #reading: Waiting[] = [];
  /** Reads that the thread does not have yet. */
  readonly #waiting: Waiting[] = [];
  readonly #pool = new MemoryPool();

  /** @param start starts a thread. */
  constructor(start: () => Worker = startThread) {
    this.#start = start;
  }

  /** Whether reads fail because the thread has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** @throws {ThreadEnded} */
  read(places: readonly BlockPlace[]): Promise<ReadBlocks> {
    if (this.#hasEnded) return Promise.reject(new ThreadEnded());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ places, resolve, reject });
      this.#handOver();
    });
  }

  /** Takes back the memory of blocks that nothing reads any more. */
  giveBack({ memory }: ReadBlocks): void {
    this.#pool.giveBack(memory);
  }

  /** Ends the thread. Reads in flight fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await this.#worker?.terminate();
  }

  /** Hands over reads that wait, as many as the thread may have. */
  #handOver(): void {
    while (this.#reading.length < MOST_READS) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      let memory: ArrayBuffer;
      try {
        memory = this.#pool.take(bytesOf(next));
      } catch (error) {
        // There is no memory for this one. Others may be smaller.
        next.reject(error as Error);
        continue;
      }
      this.#reading.push(next);
      try {
        this.#send(next, memory);
      } catch (error) {
        // For example where the system permits no more threads.
        this.#end(error as Error);
      }
    }
  }

  #send({ places }: Waiting, memory: ArrayBuffer): void {
    const numbers = places.flatMap((one) => [one.descriptor, one.offset, one.length, one.checksum]);
    const request: BlockRequest = { memory, places: Float64Array.from(numbers) };
    this.#worker ??= this.#begin();
    this.#worker.ref();
    this.#worker.postMessage(request, [memory, request.places.buffer]);
  }

  #begin(): Worker {
    const worker = this.#start();
    worker.unref();
    worker.on("message", (blocks: ReadBlocks) => {
      this.#reading.shift()?.resolve(blocks);
      this.#handOver();
      if (this.#reading.length === 0) worker.unref();
    });
    // For example of too little memory.
    worker.on("error", (error) => this.#end(error));
    worker.on("exit", () => this.#end());
    return worker;
  }

  #end(cause?: Error): void {
    this.#hasEnded = true;
    for (const { reject } of [...this.#reading.splice(0), ...this.#waiting.splice(0)])
      reject(new ThreadEnded(cause === undefined ? undefined : messageOf(cause), { cause }));
  }
}

function bytesOf({ places }: Waiting): number {
  return places.reduce((bytes, { length }) => bytes + length, 0);
}
