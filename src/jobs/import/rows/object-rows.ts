import { ident, literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { TempTable } from "../../../db/session/temp-table.js";
import type { ImportOptions } from "../import-options.js";
import type { ChosenColumns } from "../plan/choose-columns.js";
import { isReadDirectly, textExpression } from "./column-sql.js";
import { distinctTexts, fillSymbols, fillTimes, type TimeText } from "./distinct-texts.js";
import { type DecimalMark, plainNumbers, readOddNumbers } from "./number-sql.js";
import type { OpenGroup, SourceColumn } from "./raw-rows.js";

/** The fields of a table by how their texts are read. Each table has a `symbol`. */
export interface ObjectFields {
  readonly texts: readonly string[];
  readonly dates: readonly string[];
  /** Numbers; those of open tables are found in the files. */
  readonly numbers: readonly string[];
}

/**
 * The rows of all files of a table that is not one of bars, with their texts read. The columns of {@link rowsSql}: `row` (the
 * order over all files), `file`, `symbol`, `region`, `symbol_reason`, `symbol_text`, each field, and of a date also
 * `FIELD_kind`, `FIELD_reason` and `FIELD_text`; `odd` names the first number that is none.
 */
export class ObjectRows implements AsyncDisposable {
  readonly #session: Session;
  readonly #options: ImportOptions;
  readonly #raw: TempTable;
  readonly #symbols: TempTable;
  readonly #times: TempTable;
  readonly #fields: ObjectFields;
  readonly #numbers: Set<string>;
  /** The number of the form of the files that were read last. */
  #form = 0;

  constructor(session: Session, fields: ObjectFields, options: ImportOptions) {
    this.#session = session;
    this.#options = options;
    this.#fields = fields;
    this.#numbers = new Set(fields.numbers);
    this.#raw = new TempTable(session, "raw_rows");
    this.#symbols = new TempTable(session, "import_symbols");
    this.#times = new TempTable(session, "import_times");
  }

  async create(): Promise<void> {
    const texts = [...this.#fields.texts, ...this.#fields.dates].map((name) => `${ident(name)} VARCHAR`);
    const numbers = this.#fields.numbers.map((name) => `${ident(name)} DOUBLE`);
    await this.#raw.define(
      ["file INTEGER", "form INTEGER", "symbol VARCHAR", ...texts, ...numbers, "odd VARCHAR"].join(", "),
    );
  }

  /** The fields that are numbers, with those that files added. */
  get numbers(): readonly string[] {
    return [...this.#numbers];
  }

  /**
   * Reads a group of files.
   *
   * @param symbol SQL of the text of the symbol, where no column has it.
   * @param more further columns of numbers, by their names in the table.
   */
  async add(
    group: OpenGroup,
    { fields }: ChosenColumns,
    symbol: string | undefined,
    mark: DecimalMark,
    more: ReadonlyMap<string, number> = new Map(),
  ): Promise<void> {
    const column = (field: string): SourceColumn | undefined => {
      const index = fields.get(field)?.index ?? more.get(field);
      return index === undefined ? undefined : group.columns[index];
    };
    for (const name of more.keys()) {
      if (this.#numbers.has(name)) continue;
      this.#numbers.add(name);
      await this.#session.run(`ALTER TABLE ${this.#raw.name} ADD COLUMN ${ident(name)} DOUBLE`);
    }
    this.#form += 1;
    const texts = [...this.#fields.texts, ...this.#fields.dates].flatMap((name) => {
      const found = column(name);
      return found === undefined ? [] : [{ name, sql: textExpression(found) }];
    });
    const sources = new Map(
      [...this.#numbers].flatMap((name): [string, SourceColumn][] => {
        const found = column(name);
        return found === undefined ? [] : [[name, found]];
      }),
    );
    const plain = plainNumbers(sources, mark);
    const symbolColumn = column("symbol");
    const symbolText =
      symbol ?? (symbolColumn === undefined ? "NULL::VARCHAR" : textExpression(symbolColumn));
    const outer = [...texts.map(({ name }) => name), ...sources.keys()]
      .map((name) => `${ident(name)}, `)
      .join("");
    const inner = [...texts.map(({ name, sql }) => `${sql} AS ${ident(name)}`), ...plain.inner]
      .map((one) => `, ${one}`)
      .join("");
    await this.#session.run(`INSERT INTO ${this.#raw.name} BY NAME
      SELECT file, ${this.#form}::INTEGER AS form, symbol, ${outer}${plain.odd} AS odd
      FROM (SELECT file, ${symbolText} AS symbol${inner} FROM ${group.from})`);
    const read = [...sources].filter(([, source]) => !isReadDirectly(source)).map(([name]) => name);
    if (read.length > 0) await readOddNumbers(this.#session, this.#raw.name, this.#form, read, mark);
  }

  /** Reads symbols and dates: each different text once. @param symbols SQL of the texts of symbols. @default the column */
  async read(symbols = "symbol"): Promise<void> {
    const found = await distinctTexts(
      this.#session,
      "text",
      `(SELECT ${symbols} AS text FROM ${this.#raw.name})`,
    );
    await fillSymbols(this.#session, this.#symbols, found, this.#options.exchange);
    const texts: TimeText[] = [];
    for (const name of this.#fields.dates) {
      const column = ident(name);
      const own = await this.#session.json<TimeText>(
        `SELECT DISTINCT form, ${literal(name)} AS field, ${column} AS text FROM ${this.#raw.name} WHERE ${column} IS NOT NULL`,
      );
      texts.push(...own);
    }
    const { dateFormat, zone } = this.#options;
    await fillTimes(this.#session, this.#times, texts, { format: dateFormat, zone });
  }

  /** Texts of symbols with what they were read as. */
  get symbols(): string {
    return this.#symbols.name;
  }

  get raw(): string {
    return this.#raw.name;
  }

  /** SQL of the rows as they were read. */
  rowsSql(): string {
    const dates = this.#fields.dates.flatMap((name, i) => {
      const t = `t${i}`;
      const utc = `${t}.instant % 86400000 = 0`;
      const day = `coalesce(${t}.day, CASE WHEN ${utc} THEN ${t}.utc_day ELSE CASE s.region WHEN 'CN' THEN ${t}."day_CN" WHEN 'HK' THEN ${t}."day_HK" ELSE ${t}."day_US" END END)`;
      return [
        `(DATE '1970-01-01' + ${day}) AS ${ident(name)}`,
        `${t}.kind AS ${ident(`${name}_kind`)}`,
        `${t}.reason AS ${ident(`${name}_reason`)}`,
        `r.${ident(name)} AS ${ident(`${name}_text`)}`,
      ];
    });
    const joins = this.#fields.dates.map(
      (name, i) =>
        `LEFT JOIN ${this.#times.name} t${i} ON t${i}.text = r.${ident(name)} AND t${i}.form = r.form AND t${i}.field = ${literal(name)}`,
    );
    const others = [...this.#fields.texts, ...this.#numbers].map((name) => `r.${ident(name)}`);
    return `(SELECT r.file::BIGINT * 1099511627776 + r.rowid AS "row", r.file, r.rowid - min(r.rowid) OVER (PARTITION BY r.file) AS file_row,
        s.symbol, s.region, s.reason AS symbol_reason, r.symbol AS symbol_text, r.odd, ${[...dates, ...others].join(", ")}
      FROM ${this.#raw.name} r LEFT JOIN ${this.#symbols.name} s ON s.text = r.symbol ${joins.join(" ")})`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const table of [this.#raw, this.#symbols, this.#times]) await table[Symbol.asyncDispose]();
  }
}

/** SQL of the rule and the reason for which a date of a row cannot be used; for a CASE. */
export function dateTests(name: string, isRequired: boolean): string[] {
  const [kind, reason, text] = ["kind", "reason", "text"].map((part) => ident(`${name}_${part}`));
  return [
    `WHEN ${kind} = 'unclear' THEN ['unparsable', '${name} ' || ${reason}]`,
    `WHEN ${kind} = 'none' THEN ['unparsable', '${name} "' || left(${text}, 40) || '" is no date']`,
    ...(isRequired ? [`WHEN ${ident(name)} IS NULL THEN ['null_in_required', '${name} is empty']`] : []),
  ];
}

/** SQL of the rule and the reason for which a row has no symbol; for a CASE. */
export const SYMBOL_TESTS: readonly string[] = [
  `WHEN symbol IS NULL THEN ['bad_symbol', coalesce(symbol_reason, 'the symbol is empty')]`,
];

/** SQL of the rule and the reason for which a number of a row cannot be used; for a CASE. */
export const NUMBER_TEST = `WHEN odd IS NOT NULL THEN ['unparsable', odd || ' is not a number']`;
