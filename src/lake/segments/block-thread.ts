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

const PLACE_NUMBERS = 4;
/**
 * Most reads that the thread has at the same time; others wait. That is enough to keep it busy, and their memory stays
 * below the 64 MB with which V8 looks for garbage in the whole heap.
 */
const MOST_READS = 4;

/**
 * The program of the thread. It is a text, because a thread of a file would load the compiler of TypeScript in tests.
 */
const PROGRAM = `
const { readSync } = require("node:fs");
const { crc32 } = require("node:zlib");
const { parentPort } = require("node:worker_threads");
function faultOf(descriptor, offset, checksum, block) {
  try {
    const isWhole = readSync(descriptor, block, 0, block.length, offset) === block.length;
    return isWhole && crc32(block) === checksum ? undefined : "it is not what was written";
  } catch ({ message }) {
    return message;
  }
}
parentPort.on("message", ({ memory, places }) => {
  let [failed, reason] = [-1];
  for (let at = 0, place = 0; place < places.length && failed < 0; place += ${PLACE_NUMBERS}) {
    const [descriptor, offset, length, checksum] = places.subarray(place);
    reason = faultOf(descriptor, offset, checksum, new Uint8Array(memory, at, length));
    if (reason !== undefined) failed = place / ${PLACE_NUMBERS};
    at += length;
  }
  parentPort.postMessage({ memory, failed, reason }, [memory]);
});`;

function startThread(program: string): Worker {
  return new Worker(program, { eval: true, execArgv: [] });
}

/** A read in flight, or one that waits for others. */
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
 * Reads blocks and verifies their checksums in a thread of its own: that is a third of the work of a response with bars
 * of the past, so that a service responds to others at the same time. It begins with the first read, and keeps no
 * process from ending. It is a class because it owns the thread.
 */
export class BlockThread implements AsyncDisposable {
  readonly #start: (program: string) => Worker;
  #worker: Worker | undefined;
  #hasEnded = false;
  /** Reads in flight, in the order in which the thread replies. */
  readonly #reading: Waiting[] = [];
  /** Reads that the thread does not have yet. */
  readonly #waiting: Waiting[] = [];
  readonly #pool = new MemoryPool();

  /** @param start starts a thread with a program. */
  constructor(start: (program: string) => Worker = startThread) {
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
    const numbers = new Float64Array(places.length * PLACE_NUMBERS);
    for (const [index, { descriptor, offset, length, checksum }] of places.entries())
      numbers.set([descriptor, offset, length, checksum], index * PLACE_NUMBERS);
    this.#worker ??= this.#begin();
    this.#worker.ref();
    this.#worker.postMessage({ memory, places: numbers }, [memory, numbers.buffer]);
  }

  #begin(): Worker {
    const worker = this.#start(PROGRAM);
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
