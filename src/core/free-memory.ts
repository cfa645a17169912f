/** A closed port: what is sent to it is gone. */
const nowhere = closedPort();

/**
 * Frees the memory of bytes that nobody reads any more, if nothing else can be in their buffer; bytes that share a buffer
 * are left to the garbage collector. After that the bytes have length 0.
 *
 * V8 counts this memory, but knows only after a collection that it is free, so it collects all garbage again for some
 * 20 MB of it: the pieces of a response are such memory. To transfer a buffer takes a microsecond.
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
