/** A range of bytes: from `start` to `end`, exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
}

/** Type codes of Thrift's compact protocol. */
const STOP = 0;
const LIST = 9;

/**
 * Finds the elements of a list that is a field of a struct, in Thrift's compact protocol. Other fields are skipped
 * without decoding them.
 *
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 *
 * @param fieldId the list's field in the struct that `bytes` begin with.
 * @throws {RangeError} when the bytes end early, or are not such a struct with such a list.
 */
export function listElements(bytes: Uint8Array, fieldId: number): ByteRange[] {
  const cursor: Cursor = { bytes, at: 0 };
  for (let id = 0; ; ) {
    const header = byteAt(cursor);
    const type = header & 15;
    if (type === STOP) throw new RangeError(`struct of ${bytes.length} bytes: has no field ${fieldId}`);
    id = header >> 4 === 0 ? unzigzag(varint(cursor)) : id + (header >> 4);
    if (id !== fieldId) skip(cursor, type);
    else if (type === LIST) return elements(cursor);
    else throw new RangeError(`field ${fieldId}: is of type ${type}, not a list`);
  }
}

function elements(cursor: Cursor): ByteRange[] {
  const { size, type } = listHeader(cursor);
  return Array.from({ length: size }, () => {
    const start = cursor.at;
    skipElement(cursor, type);
    return { start, end: cursor.at };
  });
}

function listHeader(cursor: Cursor): { size: number; type: number } {
  const header = byteAt(cursor);
  const size = header >> 4 === 15 ? varint(cursor) : header >> 4;
  return { size, type: header & 15 };
}

/** Skips an element of a list. There a boolean takes one byte; in a struct its value is in the field's header. */
function skipElement(cursor: Cursor, type: number): void {
  if (type === 1 || type === 2) cursor.at += 1;
  else skip(cursor, type);
}

function skip(cursor: Cursor, type: number): void {
  switch (type) {
    case 1:
    case 2:
      return;
    case 3:
      cursor.at += 1;
      return;
    case 4:
    case 5:
    case 6:
      while (byteAt(cursor) >= 128);
      return;
    case 7:
      cursor.at += 8;
      return;
    case 8: {
      const length = varint(cursor);
      cursor.at += length;
      return;
    }
    case LIST:
    case 10: {
      const { size, type: of } = listHeader(cursor);
      for (let i = 0; i < size; i++) skipElement(cursor, of);
      return;
    }
    case 11: {
      const size = varint(cursor);
      const types = size === 0 ? 0 : byteAt(cursor);
      for (let i = 0; i < size; i++) {
        skipElement(cursor, types >> 4);
        skipElement(cursor, types & 15);
      }
      return;
    }
    case 12:
      skipStruct(cursor);
      return;
    default:
      throw new RangeError(`byte ${cursor.at}: type ${type} is unknown`);
  }
}

function skipStruct(cursor: Cursor): void {
  for (let header = byteAt(cursor); (header & 15) !== STOP; header = byteAt(cursor)) {
    if (header >> 4 === 0) varint(cursor);
    skip(cursor, header & 15);
  }
}

function byteAt(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at++];
  if (byte === undefined) throw new RangeError(`struct of ${cursor.bytes.length} bytes: ends early`);
  return byte;
}

/** Reads a variable-length number. It is used only for sizes and field ids, which are below 2^53. */
function varint(cursor: Cursor): number {
  let value = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = byteAt(cursor);
    value += (byte & 127) * factor;
    if (byte < 128) return value;
  }
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
