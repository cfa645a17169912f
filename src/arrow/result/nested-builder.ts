import duckdb, { type Vector } from "@duckdb/node-bindings";
import type { Data, DataType } from "apache-arrow";
import { isPresent } from "../../core/bits.js";
import { type Append, type ColumnBuilder, dataOf, ValidityBuilder, validityOf } from "./column-builder.js";
import { checkReach, OffsetsBuilder } from "./text-builder.js";

/** 32-bit words of a list in a vector: the offset of its elements and their number, 64 bits each. */
const LIST_WORDS = 4;

/** Collects lists, and maps, which are lists of entries. */
export class ListBuilder implements ColumnBuilder {
  readonly #column: string;
  readonly type: DataType;
  readonly #elements: ColumnBuilder;
  readonly #offsets = new OffsetsBuilder();
  readonly #validity = new ValidityBuilder();
  #length = 0;

  constructor(column: string, type: DataType, elements: ColumnBuilder) {
    this.#column = column;
    this.type = type;
    this.#elements = elements;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const source = duckdb.vector_get_data(vector, rows * LIST_WORDS * 4);
    const words = new Uint32Array(source.buffer, source.byteOffset, rows * LIST_WORDS);
    const append = this.#elements.open(
      duckdb.list_vector_get_child(vector),
      duckdb.list_vector_get_size(vector),
    );
    return (from, count) => {
      const { offsets, at } = this.#offsets.extend(count);
      // Lists with adjacent elements are appended together.
      let [start, end] = [0, 0];
      for (let row = 0; row < count; row++) {
        const word = (from + row) * LIST_WORDS;
        if (isPresent(validity, from + row)) {
          const [first, length] = [words[word] as number, words[word + 2] as number];
          if (first !== end && length > 0) {
            if (end > start) append(start, end - start);
            [start, end] = [first, first];
          }
          end += length;
          this.#length += length;
        }
        offsets[at + row] = this.#length;
      }
      if (end > start) append(start, end - start);
      checkReach(this.#column, this.#length);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#offsets.byteLength + this.#elements.byteLength;
  }

  finish(): Data {
    this.#length = 0;
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      valueOffsets: this.#offsets.finish(),
      child: this.#elements.finish(),
    });
  }
}

/** Collects arrays: lists whose length is part of their type. */
export class ArrayBuilder implements ColumnBuilder {
  readonly type: DataType;
  readonly #length: number;
  readonly #elements: ColumnBuilder;
  readonly #validity = new ValidityBuilder();

  constructor(type: DataType, length: number, elements: ColumnBuilder) {
    this.type = type;
    this.#length = length;
    this.#elements = elements;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const append = this.#elements.open(duckdb.array_vector_get_child(vector), rows * this.#length);
    return (from, count) => {
      append(from * this.#length, count * this.#length);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#elements.byteLength;
  }

  finish(): Data {
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      child: this.#elements.finish(),
    });
  }
}

/** Collects structs: a column for each field. */
export class StructBuilder implements ColumnBuilder {
  readonly type: DataType;
  readonly #fields: readonly ColumnBuilder[];
  readonly #validity = new ValidityBuilder();

  constructor(type: DataType, fields: readonly ColumnBuilder[]) {
    this.type = type;
    this.#fields = fields;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const appends = this.#fields.map((field, index) =>
      field.open(duckdb.struct_vector_get_child(vector, index), rows),
    );
    return (from, count) => {
      for (const append of appends) append(from, count);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#fields.reduce((sum, field) => sum + field.byteLength, 0);
  }

  finish(): Data {
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      children: this.#fields.map((field) => field.finish()),
    });
  }
}
