/** Type codes of Thrift's compact protocol. */
const STOP = 0;
const TRUE = 1;
const FALSE = 2;
const I8 = 3;
const I16 = 4;
const I32 = 5;
const I64 = 6;
const DOUBLE = 7;
const BINARY = 8;
const LIST = 9;
const SET = 10;
const STRUCT = 12;

interface ThriftInteger {
  readonly type: typeof I8 | typeof I16 | typeof I32 | typeof I64;
  readonly value: number;
}

/**
 * A value of a field, with its type code where the value alone does not tell it: an integer, the 8 bytes of a double, a
 * text or other bytes, a list or set, or a struct. Parquet has no maps.
 */
export type ThriftValue =
  | { readonly type: typeof TRUE | typeof FALSE }
  | ThriftInteger
  | { readonly type: typeof DOUBLE | typeof BINARY; readonly value: Uint8Array }
  | {
      readonly type: typeof LIST | typeof SET;
      readonly of: number;
      readonly items: readonly ThriftValue[];
    }
  | { readonly type: typeof STRUCT; readonly fields: ThriftStruct };

/** The fields of a struct by their ids, ascending. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;

/** An integer of 32 bits. */
export const i32 = (value: number): ThriftValue => ({ type: I32, value });
/** An integer of 64 bits; it must be safe. */
export const i64 = (value: number): ThriftValue => ({ type: I64, value });
export const bool = (value: boolean): ThriftValue => ({ type: value ? TRUE : FALSE });
export const bytes = (value: Uint8Array): ThriftValue => ({ type: BINARY, value });
export const text = (value: string): ThriftValue => bytes(Buffer.from(value));
export const list = (items: readonly ThriftValue[]): ThriftValue => ({
  type: LIST,
  of: items[0]?.type ?? STRUCT,
  items,
});
/** Fields by their ids; those that are undefined are left out. */
type Fields = Readonly<Record<number, ThriftValue | undefined>>;

export function struct(fields: ThriftStruct | Fields): ThriftValue {
  return { type: STRUCT, fields: fields instanceof Map ? fields : fieldsOf(fields as Fields) };
}

export function fieldsOf(fields: Fields): ThriftStruct {
  const present = new Map<number, ThriftValue>();
  for (const [id, value] of Object.entries(fields)) if (value !== undefined) present.set(Number(id), value);
  return present;
}

/** The struct with some fields replaced, or removed where they are undefined. */
export function withFields(fields: ThriftStruct, changed: Fields): ThriftStruct {
  return fieldsOf({ ...Object.fromEntries(fields), ...changed });
}

/** The integer in a field. @throws {RangeError} where there is none. */
export function integerAt(fields: ThriftStruct, id: number): number {
  const field = fields.get(id);
  if (field === undefined || !isInteger(field)) throw new RangeError(`field ${id}: no integer`);
  return field.value;
}

/** The bytes in a field; undefined where there are none. */
export function bytesAt(fields: ThriftStruct, id: number): Uint8Array | undefined {
  const field = fields.get(id);
  return field?.type === BINARY ? field.value : undefined;
}

/** The items of a list of structs. @throws {RangeError} where there is no such list. */
export function structsAt(fields: ThriftStruct, id: number): ThriftStruct[] {
  const field = fields.get(id);
  if (field?.type !== LIST) throw new RangeError(`field ${id}: no list`);
  return field.items.map((item) => {
    if (item.type !== STRUCT) throw new RangeError(`field ${id}: a list of type ${field.of}, not of structs`);
    return item.fields;
  });
}

/** The struct in a field. @throws {RangeError} where there is none. */
export function structAt(fields: ThriftStruct, id: number): ThriftStruct {
  const field = fields.get(id);
  if (field?.type !== STRUCT) throw new RangeError(`field ${id}: no struct`);
  return field.fields;
}

function isInteger(value: ThriftValue): value is ThriftInteger {
  return value.type >= I8 && value.type <= I64;
}

/**
 * Decodes the struct that bytes begin with, in Thrift's compact protocol. {@link encodeStruct} makes the same bytes of it.
 *
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 *
 * @throws {RangeError} when the bytes end early, or are not such a struct.
 */
export function decodeStruct(from: Uint8Array): ThriftStruct {
  return new Decoder(from).struct();
}

class Decoder {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(from: Uint8Array) {
    this.#bytes = from;
  }

  struct(): ThriftStruct {
    const fields = new Map<number, ThriftValue>();
    for (let id = 0; ; ) {
      const header = this.#byte();
      const type = header & 15;
      if (type === STOP) return fields;
      id = header >> 4 === 0 ? this.#integer() : id + (header >> 4);
      fields.set(id, type === TRUE || type === FALSE ? { type } : this.#value(type));
    }
  }

  #value(type: number): ThriftValue {
    switch (type) {
      case I8:
        return { type, value: (this.#byte() << 24) >> 24 };
      case I16:
      case I32:
      case I64:
        return { type, value: this.#integer() };
      case DOUBLE:
        return { type, value: this.#take(8) };
      case BINARY:
        return { type, value: this.#take(this.#varint()) };
      case LIST:
      case SET:
        return this.#items(type);
      case STRUCT:
        return { type, fields: this.struct() };
      default:
        throw new RangeError(`byte ${this.#at}: type ${type} is unknown`);
    }
  }

  #items(type: typeof LIST | typeof SET): ThriftValue {
    const header = this.#byte();
    const size = header >> 4 === 15 ? this.#varint() : header >> 4;
    const of = header & 15;
    const items = Array.from({ length: size }, () => this.#item(of));
    return { type, of, items };
  }

  /** An item of a list: there a boolean takes a byte, while in a struct its value is in the header of its field. */
  #item(of: number): ThriftValue {
    if (of !== TRUE && of !== FALSE) return this.#value(of);
    return bool(this.#byte() === TRUE);
  }

  #byte(): number {
    return this.#take(1)[0] as number;
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError(`struct of ${this.#bytes.length} bytes: ends early`);
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  #varint(): number {
    return Number(this.#varint64());
  }

  #varint64(): bigint {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  #integer(): number {
    const value = this.#varint64();
    const integer = Number(value % 2n === 0n ? value / 2n : -(value + 1n) / 2n);
    if (!Number.isSafeInteger(integer))
      throw new RangeError(`byte ${this.#at}: integer ${integer} is too large`);
    return integer;
  }
}

export function encodeStruct(fields: ThriftStruct): Buffer {
  const out: number[] = [];
  putStruct(out, fields);
  return Buffer.from(out);
}

function putStruct(out: number[], fields: ThriftStruct): void {
  let last = 0;
  for (const [id, field] of [...fields].sort(([a], [b]) => a - b)) {
    const step = id - last;
    if (step <= 15) out.push((step << 4) | field.type);
    else {
      out.push(field.type);
      putInteger(out, id);
    }
    if (field.type !== TRUE && field.type !== FALSE) putValue(out, field);
    last = id;
  }
  out.push(STOP);
}

function putValue(out: number[], field: ThriftValue): void {
  switch (field.type) {
    case TRUE:
    case FALSE:
      out.push(field.type);
      return;
    case I8:
      out.push(field.value & 255);
      return;
    case I16:
    case I32:
    case I64:
      putInteger(out, field.value);
      return;
    case BINARY:
      putVarint(out, BigInt(field.value.length));
      for (const byte of field.value) out.push(byte);
      return;
    case DOUBLE:
      for (const byte of field.value) out.push(byte);
      return;
    case STRUCT:
      putStruct(out, field.fields);
      return;
    case LIST:
    case SET: {
      const { items, of } = field;
      if (items.length < 15) out.push((items.length << 4) | of);
      else {
        out.push(0xf0 | of);
        putVarint(out, BigInt(items.length));
      }
      for (const item of items) putValue(out, item);
    }
  }
}

function putInteger(out: number[], value: number): void {
  const wide = BigInt(value);
  putVarint(out, wide < 0n ? -wide * 2n - 1n : wide * 2n);
}

/** Adds a number, seven bits a byte, the lowest first. */
export function putVarint(out: number[], value: bigint): void {
  let rest = value;
  for (; rest >= 128n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
}
