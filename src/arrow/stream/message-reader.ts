import { WireError } from "../../core/errors.js";
import { MemoryPool } from "../../core/memory-pool.js";
import { FlatError, FlatTable } from "./flat-table.js";

/** Most bytes of the metadata of a message; that of bars takes some two thousand. */
const MAX_METADATA_BYTES = 64 * 1024;
/** Most bytes of a message's body: thirty batches as the service makes them. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const CONTINUATION = 0xffff_ffff;

/** What the header of a message is, by its number in Arrow's format. */
const KINDS = { 1: "schema", 2: "dictionary", 3: "batch" } as const;

/** A message as it was read. */
export interface ReadMessage {
  readonly kind: (typeof KINDS)[keyof typeof KINDS];
  /** The schema, dictionary or batch; it is valid within {@link FlatTable.read}. */
  readonly header: FlatTable;
  /** It begins at the start of its memory, which nothing else is in. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Offset in the stream at which the message begins. */
  readonly offset: number;
}

/**
 * Reads the messages of an Arrow IPC stream from pieces that are cut anywhere. Memory contains one message; a length is
 * checked against its limit before memory is taken for it.
 *
 * @throws {WireError} for bytes that are no such stream, that end before its end mark, or go on behind it.
 */
export class MessageReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #memory: MemoryPool;
  #piece: Uint8Array = new Uint8Array(0);
  /** Bytes of the stream that were read. */
  bytes = 0;

  /** @param memory for the bodies of messages. */
  constructor(body: AsyncIterable<Uint8Array>, memory = new MemoryPool()) {
    this.#memory = memory;
    this.#pieces = body[Symbol.asyncIterator]();
  }

  /** Reads the next message. @returns whether there was one: false at the end of the stream. */
  async next(take: (message: ReadMessage) => void): Promise<boolean> {
    const offset = this.bytes;
    const prefix = new DataView((await this.#fill(new Uint8Array(8))).buffer);
    if (prefix.getUint32(0, true) !== CONTINUATION)
      throw new WireError("malformed", "Arrow stream has no message where one should begin", offset);
    const length = prefix.getUint32(4, true);
    if (length === 0) return this.#end();
    this.#check(length, MAX_METADATA_BYTES, "metadata", offset);
    const metadata = await this.#fill(new Uint8Array(length));
    const { kind, bodyLength } = this.#parse(metadata, offset, (root) => ({
      kind: KINDS[root.uint8(1) as keyof typeof KINDS] as ReadMessage["kind"] | undefined,
      bodyLength: root.size(3),
    }));
    if (kind === undefined)
      throw new WireError("wrong_shape", "Arrow stream has a message of an unknown kind", offset);
    this.#check(bodyLength, MAX_BODY_BYTES, "a body", offset);
    const body = await this.#fill(new Uint8Array(this.#memory.take(bodyLength), 0, bodyLength));
    this.#parse(metadata, offset, (root) => {
      const header = root.table(2);
      if (header === undefined) throw new FlatError("message has no header");
      take({ kind, header, body, offset });
    });
    return true;
  }

  #parse<T>(metadata: Uint8Array, offset: number, read: (root: FlatTable) => T): T {
    try {
      return FlatTable.read(metadata, read);
    } catch (cause) {
      if (!(cause instanceof FlatError)) throw cause;
      throw new WireError("malformed", `Arrow stream is damaged: ${cause.message}`, offset, { cause });
    }
  }

  #check(length: number, most: number, what: string, offset: number): void {
    if (length <= most) return;
    throw new WireError("limit", `Arrow stream has ${what} of ${length} bytes; the most are ${most}`, offset);
  }

  async #end(): Promise<false> {
    for (let piece = this.#piece; ; ) {
      if (piece.length > 0)
        throw new WireError("malformed", "Arrow stream goes on behind its end", this.bytes);
      const next = await this.#pieces.next();
      if (next.done === true) return false;
      piece = next.value;
    }
  }

  /** Copies the next bytes. @returns its argument */
  async #fill(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const { length } = bytes;
    for (let at = 0; at < length; ) {
      if (this.#piece.length === 0) {
        const next = await this.#pieces.next();
        if (next.done === true)
          throw new WireError("truncated", "response ends before its Arrow stream does", this.bytes);
        this.#piece = next.value;
      }
      const part = this.#piece.subarray(0, length - at);
      bytes.set(part, at);
      at += part.length;
      this.bytes += part.length;
      this.#piece = this.#piece.subarray(part.length);
    }
    return bytes;
  }
}
