import type { Schema } from "apache-arrow";
import {
  BufferRegion,
  DictionaryBatch,
  FieldNode,
  Message,
  RecordBatch,
} from "apache-arrow/ipc/metadata/message";

/** Each message, and each buffer of a body, begins at a multiple of this many bytes. */
const ALIGNMENT = 8;
const PADDING = new Uint8Array(ALIGNMENT);
const CONTINUATION = 0xffff_ffff;
/** Bytes before the metadata of a message: the mark of a message, and the length of its metadata. */
const PREFIX_BYTES = 8;

/** The end of a stream: the mark of a message, and the length 0. */
export const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/**
 * The beginning of a message: its mark, a length of 264 bytes, and 8 of them. A stream that fails ends with it, so that
 * no reader accepts it as whole: some readers take a stream without an end mark.
 */
export const CUT_SHORT = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x08, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

/** A message of an Arrow IPC stream. Its size is known before its body is made. */
export interface StreamMessage {
  readonly byteLength: number;
  /** The message in pieces: views of the columns where these are contiguous. */
  pieces(): Generator<Uint8Array, void, undefined>;
}

interface BodyPart {
  readonly bytes: number;
  readonly make: () => ArrayBufferView;
}

/** The body of a batch while its columns are added to it, in the order of the schema. */
export class BatchBody {
  readonly #rows: number;
  readonly #nodes: FieldNode[] = [];
  readonly #regions: BufferRegion[] = [];
  readonly #parts: BodyPart[] = [];
  #bytes = 0;

  constructor(rows: number) {
    this.#rows = rows;
  }

  /** Begins a column; its buffers follow. */
  column(nullCount: number): void {
    this.#nodes.push(new FieldNode(this.#rows, nullCount));
  }

  buffer(bytes: number, make: () => ArrayBufferView): BufferRegion {
    const region = new BufferRegion(this.#bytes, bytes);
    this.#regions.push(region);
    if (bytes === 0) return region;
    this.#parts.push({ bytes, make });
    this.#bytes += aligned(bytes);
    return region;
  }

  /** Adds the bytes of another buffer of this body as a buffer of the current column, without sending them twice. */
  sameBuffer(region: BufferRegion): void {
    this.#regions.push(region);
  }

  /** Adds a buffer without bytes: the validity of a column without nulls. */
  noBuffer(): void {
    this.buffer(0, () => PADDING);
  }

  recordBatch(): StreamMessage {
    return messageOf(Message.from(this.#layout(), this.#bytes), this.#parts);
  }

  dictionary(id: number): StreamMessage {
    return messageOf(Message.from(new DictionaryBatch(this.#layout(), id), this.#bytes), this.#parts);
  }

  #layout(): RecordBatch {
    return new RecordBatch(this.#rows, this.#nodes, this.#regions, null);
  }
}

export function schemaMessage(schema: Schema): StreamMessage {
  return messageOf(Message.from(schema), []);
}

function messageOf(message: Message, parts: readonly BodyPart[]): StreamMessage {
  const metadata = Message.encode(message);
  const head = new Uint8Array(PREFIX_BYTES + aligned(metadata.length));
  const prefix = new DataView(head.buffer);
  prefix.setUint32(0, CONTINUATION, true);
  prefix.setUint32(4, head.length - PREFIX_BYTES, true);
  head.set(metadata, PREFIX_BYTES);
  return {
    byteLength: head.length + message.bodyLength,
    *pieces() {
      yield head;
      for (const { bytes, make } of parts) {
        const { buffer, byteOffset, byteLength } = make();
        if (byteLength !== bytes) throw new RangeError(`buffer has ${byteLength} bytes instead of ${bytes}`);
        yield new Uint8Array(buffer, byteOffset, byteLength);
        if (bytes % ALIGNMENT !== 0) yield PADDING.subarray(bytes % ALIGNMENT);
      }
    },
  };
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
