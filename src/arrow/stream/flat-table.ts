/** Bytes that are no table: an offset or a length that leads out of them. */
export class FlatError extends Error {
  override readonly name = "FlatError";
}

/** Elements of a vector, each of the same size. */
export interface FlatVector {
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
