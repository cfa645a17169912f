import type { Issue } from "../../../core/issue.js";
import type { Column, ColumnType, TableSchema } from "../../../schema/column.js";
import type { StatementRecord } from "../../../wire/resources.js";

const IDENTITY: readonly Column[] = [
  { name: "symbol", type: "string", doc: "" },
  { name: "period_end", type: "date", doc: "" },
  { name: "announce_date", type: "date", doc: "" },
  { name: "source", type: "string", doc: "" },
  { name: "line", type: "int64", doc: "" },
];

/** Columns that the lake fills itself. A delivered field with such a name has another meaning and is left out. */
const OWN = new Set([...IDENTITY.map(({ name }) => name), "first_seen_at", "region"]);

/** A field name that can be a column name. */
const FIELD = /^[A-Za-z_]\w{0,62}$/;
const TYPE_OF: Readonly<Record<string, ColumnType>> = {
  number: "double",
  string: "string",
  boolean: "boolean",
};

/** The fields of a table's statements and their types: those of the table, and those of the deliveries. */
export class StatementFields {
  readonly #table: TableSchema;
  readonly #types = new Map<string, ColumnType>();
  /** The spelling of each column, by its lower-case name: SQL names are not case-sensitive. */
  readonly #spellings = new Map<string, string>();
  readonly #delivered = new Set<string>();

  /** @param columns the table's current columns. */
  constructor(table: TableSchema, columns: readonly Column[]) {
    this.#table = table;
    for (const { name, type } of columns) this.#know(name, type);
  }

  get columns(): Column[] {
    return [
      ...IDENTITY,
      ...[...this.#delivered]
        .sort()
        .map((name): Column => ({ name, type: this.#types.get(name) ?? "double", nullable: true, doc: "" })),
    ];
  }

  /**
   * A record as a row of the table. Fields whose name cannot be a column name are left out, as are lists and objects in
   * fields that the table does not have. Of fields whose names differ only in case, the first one is used.
   *
   * @returns an issue instead where the value of a field does not have the type of its column.
   */
  rowOf(symbol: string, record: StatementRecord): { row: Record<string, unknown> } | { issue: Issue } {
    const { period_end, announce_date, ...others } = record;
    const fields = new Map<string, unknown>();
    for (const [name, value] of Object.entries(others)) {
      const spelt = this.#spellings.get(name.toLowerCase()) ?? name;
      const isTaken = [...fields.keys()].some((one) => one.toLowerCase() === spelt.toLowerCase());
      if (!isTaken && this.#isField(spelt, value)) fields.set(spelt, value);
    }
    for (const [name, value] of fields) {
      const type = this.#types.get(name);
      if (type !== undefined && type !== TYPE_OF[typeof value])
        return { issue: this.#wrongType(symbol, record, name, value, type) };
    }
    for (const [name, value] of fields) {
      this.#know(name, TYPE_OF[typeof value] as ColumnType);
      this.#delivered.add(name);
    }
    return {
      row: { ...Object.fromEntries(fields), symbol, period_end, announce_date: announce_date ?? null },
    };
  }

  #know(name: string, type: ColumnType): void {
    this.#types.set(name, type);
    this.#spellings.set(name.toLowerCase(), name);
  }

  #isField(name: string, value: unknown): boolean {
    if (value === null || value === undefined || !FIELD.test(name) || OWN.has(name.toLowerCase()))
      return false;
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
