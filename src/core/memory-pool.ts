/** A closed port: what is sent to it is gone. */
const nowhere = closedPort();

/**
 * Frees memory that nobody reads any more, unless something else shares the buffer; its length becomes 0. V8 knows only
 * after a collection that such memory is free, and collects all garbage again for some 20 MB of it.
 */
export function freeMemory({ buffer, byteLength }: ArrayBufferView): void {
  if (!(buffer instanceof ArrayBuffer) || byteLength === 0 || byteLength < buffer.byteLength) return;
  nowhere.postMessage(undefined, [buffer]);
}

/** Passes pieces on, and frees the memory of each one when the next is requested. */
export async function* freedAfterUse(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    yield piece;
    freeMemory(piece);
  }
}

/** By the HTML standard a closed port, too, takes over the buffers of a message before the message is dropped. */
function closedPort() {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

/** Smaller memory is not kept: to allocate it is cheap. */
const LEAST_BYTES = 16 * 1024;
const MOST_FREE_BYTES = 48 * 2 ** 20;

/**
 * Memory for short use, which is used again: V8 looks for garbage in its whole heap whenever some 64 MB outside of the
 * heap were allocated.
 */
export class MemoryPool {
  readonly #free = new Map<number, ArrayBuffer[]>();
  #freeBytes = 0;

  /** Memory of at least this number of bytes. It is not cleared. */
  take(bytes: number): ArrayBuffer {
    if (bytes < LEAST_BYTES) return Buffer.allocUnsafeSlow(bytes).buffer;
    const size = 2 ** Math.ceil(Math.log2(bytes));
    const found = this.#free.get(size)?.pop();
    if (found === undefined) return Buffer.allocUnsafeSlow(size).buffer;
    this.#freeBytes -= size;
    return found;
  }

  giveBack(memory: ArrayBuffer): void {
    const { byteLength } = memory;
    if (byteLength < LEAST_BYTES || this.#freeBytes + byteLength > MOST_FREE_BYTES) return;
    const list = this.#free.get(byteLength);
    if (list === undefined) this.#free.set(byteLength, [memory]);
    else list.push(memory);
    this.#freeBytes += byteLength;
  }
}

/**
 * The memory that one piece of work has taken from a pool. What is not given back is left to the garbage collector, so
 * that an error, or a reader that goes on, does no harm. All of it stays in use until then: each of many batches needs
 * its own.
 */
export class LentMemory {
  readonly #pool: MemoryPool;
  #taken: ArrayBuffer[] = [];
  #isShared = false;

  constructor(pool: MemoryPool) {
    this.#pool = pool;
  }

  readonly take = (bytes: number): ArrayBuffer => {
    const memory = this.#pool.take(bytes);
    this.#taken.push(memory);
    return memory;
  };

  /** More memory of the same pool, which can be given back at another time. */
  another(): LentMemory {
    return new LentMemory(this.#pool);
  }

  /** Notes that others read what is in the memory: it is never given back. */
  share(): void {
    this.#isShared = true;
  }

  giveBack(): void {
    for (const memory of this.#isShared ? [] : this.#taken) this.#pool.giveBack(memory);
    this.#taken = [];
  }
}
