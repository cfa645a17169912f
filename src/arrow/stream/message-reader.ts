import { WireError } from "../../core/errors.js";
import { MemoryPool } from "../../core/memory-pool.js";

/** Bytes that are no table: an offset or a length that leads out of them. */
export class FlatError extends Error {
  override readonly name = "FlatError";
}

/** Elements of a vector, each of the same size. */
interface FlatVector {
  readonly length: number;
  /** The position of an element. */
  readonly at: (index: number) => number;
}

/**
 * A table of FlatBuffers, in which Arrow IPC writes its metadata. Each position is checked before it is read, and the
 * length of a vector against the bytes that are there, so that bytes of any kind cost no more than their size.
 *
 * A member is named by its slot: its number in the schema of the table, in which a union counts as two.
 */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;
  readonly #members: number;
  readonly #memberBytes: number;

  private constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
    this.#members = at - view.getInt32(at, true);
    this.#memberBytes = view.getUint16(this.#members, true);
  }

  /** Reads a table and the vectors and tables that it refers to. @throws {FlatError} where the bytes are no such table. */
  static read<T>(bytes: Uint8Array, read: (root: FlatTable) => T): T {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    try {
      return read(new FlatTable(view, view.getUint32(0, true)));
    } catch (cause) {
      if (cause instanceof RangeError) throw new FlatError("metadata leads out of its bytes", { cause });
      throw cause;
    }
  }

  uint8(slot: number): number {
    const at = this.#find(slot);
    return at === undefined ? 0 : this.#view.getUint8(at);
  }

  int16(slot: number): number {
    const at = this.#find(slot);
    return at === undefined ? 0 : this.#view.getInt16(at, true);
  }

  int32(slot: number): number {
    const at = this.#find(slot);
    return at === undefined ? 0 : this.#view.getInt32(at, true);
  }

  /** A length or an offset. @throws {FlatError} for one below 0 or above 2^53. */
  size(slot: number): number {
    const at = this.#find(slot);
    return at === undefined ? 0 : this.sizeAt(at);
  }

  /** The length or offset at a position, that of an element's member for example. */
  sizeAt(at: number): number {
    const value = Number(this.#view.getBigInt64(at, true));
    if (value >= 0 && Number.isSafeInteger(value)) return value;
    throw new FlatError(`metadata has the length ${value}`);
  }

  text(slot: number): string | undefined {
    const at = this.#find(slot);
    if (at === undefined) return undefined;
    const { start, length } = this.#elements(at, 1);
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + start, length).toString("utf8");
  }

  table(slot: number): FlatTable | undefined {
    const at = this.#find(slot);
    return at === undefined ? undefined : this.#tableAt(at);
  }

  tables(slot: number): FlatTable[] {
    const { length, at } = this.vector(slot, 4);
    return Array.from({ length }, (_, index) => this.#tableAt(at(index)));
  }

  /** @param bytes of an element. */
  vector(slot: number, bytes: number): FlatVector {
    const member = this.#find(slot);
    if (member === undefined) return { length: 0, at: () => 0 };
    const { start, length } = this.#elements(member, bytes);
    return { length, at: (index) => start + index * bytes };
  }

  #find(slot: number): number | undefined {
    const entry = 4 + slot * 2;
    if (entry + 2 > this.#memberBytes) return undefined;
    const offset = this.#view.getUint16(this.#members + entry, true);
    return offset === 0 ? undefined : this.#at + offset;
  }

  #tableAt(at: number): FlatTable {
    return new FlatTable(this.#view, at + this.#view.getUint32(at, true));
  }

  #elements(at: number, bytes: number): { readonly start: number; readonly length: number } {
    const vector = at + this.#view.getUint32(at, true);
    const length = this.#view.getUint32(vector, true);
    const start = vector + 4;
    if (start + length * bytes > this.#view.byteLength)
      throw new FlatError(`metadata has ${length} elements`);
    return { start, length };
  }
}

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
