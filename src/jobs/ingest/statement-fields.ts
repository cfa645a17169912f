import type { Issue } from "../../core/issue.js";
import type { Column, ColumnType, TableSchema } from "../../schema/column.js";
import type { StatementRecord } from "../../wire/resources.js";

/** Columns that say which statement a row is of. */
export const IDENTITY: readonly Column[] = [
  { name: "symbol", type: "string", doc: "" },
  { name: "period_end", type: "date", doc: "" },
  { name: "announce_date", type: "date", doc: "" },
  { name: "source", type: "string", doc: "" },
  { name: "line", type: "int64", doc: "" },
];

/** A field whose name can be a column's. */
const FIELD = /^[A-Za-z_]\w{0,62}$/;
const TYPE_OF: Readonly<Record<string, ColumnType>> = {
  number: "double",
  string: "string",
  boolean: "boolean",
};

/** The fields of a table's statements and the type of each: those that it has, and those that deliveries bring. */
export class StatementFields {
  readonly #table: TableSchema;
  readonly #types = new Map<string, ColumnType>();
  readonly #delivered = new Set<string>();

  /** @param columns the table's columns as it stands. */
  constructor(table: TableSchema, columns: readonly Column[]) {
    this.#table = table;
    for (const { name, type } of columns) this.#types.set(name, type);
  }

  /** The columns of what was taken so far. */
  get columns(): Column[] {
    return [
      ...IDENTITY,
      ...[...this.#delivered]
        .sort()
        .map((name): Column => ({ name, type: this.#types.get(name) ?? "double", nullable: true, doc: "" })),
    ];
  }

  /**
   * A record as a row of the table. Fields that are no column's name, and lists and objects of fields that the table
   * does not have, are left out.
   *
   * @returns an issue instead where a field's value is not of the type that its column has.
   */
  rowOf(symbol: string, record: StatementRecord): { row: Record<string, unknown> } | { issue: Issue } {
    const { period_end, announce_date, ...others } = record;
    const fields = Object.entries(others).filter(([name, value]) => this.#isField(name, value));
    for (const [name, value] of fields) {
      const type = this.#types.get(name);
      if (type !== undefined && type !== TYPE_OF[typeof value])
        return { issue: this.#wrongType(symbol, record, name, value, type) };
    }
    for (const [name, value] of fields) {
      this.#types.set(name, TYPE_OF[typeof value] as ColumnType);
      this.#delivered.add(name);
    }
    return {
      row: { ...Object.fromEntries(fields), symbol, period_end, announce_date: announce_date ?? null },
    };
  }

  #isField(name: string, value: unknown): boolean {
    if (value === null || value === undefined || !FIELD.test(name)) return false;
    if (IDENTITY.some((column) => column.name === name)) return false;
    return this.#types.has(name) || (typeof value) in TYPE_OF;
  }

  #wrongType(
    symbol: string,
    record: StatementRecord,
    column: string,
    value: unknown,
    type: ColumnType,
  ): Issue {
    const text = (JSON.stringify(value) ?? "").slice(0, 64);
    const found = TYPE_OF[typeof value] ?? typeof value;
    return {
      rule: "wrong_type",
      message: `${symbol} ${record.period_end}: table ${this.#table.name}, column ${column} is ${type}, and ${text} is ${found}; a column's type never changes`,
      symbol,
      column,
      rejected: 1,
    };
  }
}
