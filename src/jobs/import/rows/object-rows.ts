import { UsageError } from "../../../core/errors.js";
import { ident, literal } from "../../../db/quote.js";
import { type Session, TempTable } from "../../../db/session/session.js";
import type { DecimalMark, ImportOptions } from "../import-options.js";
import type { ChosenColumns, FileColumn } from "../plan/choose-columns.js";
import type { ReadGroup } from "../table-import.js";
import { distinctTexts, fillSymbols, fillTimes, type TimeText } from "./distinct-texts.js";
import {
  hasScaleSql,
  isReadDirectly,
  plainNumbers,
  readOddNumbers,
  scaledSql,
  textExpression,
} from "./number-sql.js";
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
 * `FIELD_kind`, `FIELD_reason` and `FIELD_text`; `odd` names the first number that is none, `fraction` a number of shares
 * that is not whole and must be.
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
      [
        "file INTEGER",
        "form INTEGER",
        "symbol VARCHAR",
        ...texts,
        ...numbers,
        "odd VARCHAR",
        "fraction VARCHAR",
      ].join(", "),
    );
  }

  /** The fields that are numbers, with those that files added. */
  get numbers(): readonly string[] {
    return [...this.#numbers];
  }

  /**
   * @param symbol SQL of the text of the symbol, where no column has it.
   * @param more further columns of numbers, by their names in the table.
   * @param exponents powers of ten of the units of numbers, by their names in the table; 0 without one.
   */
  async add(
    group: OpenGroup,
    { fields }: ChosenColumns,
    symbol: string | undefined,
    mark: DecimalMark,
    more: ReadonlyMap<string, number> = new Map(),
    exponents: ReadonlyMap<string, number> = new Map(),
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
    const scaled = [...exponents].filter(([name, exponent]) => sources.has(name) && exponent !== 0);
    if (scaled.length === 0) return;
    await this.#session.run(
      `UPDATE ${this.#raw.name} SET ${scaled.map(([name, exponent]) => `${ident(name)} = ${scaledSql(ident(name), exponent)}`).join(", ")} WHERE form = ${this.#form}`,
    );
  }

  /**
   * Finds fractions of shares in the files that were read last. A unit of many shares is a wrong one where it leaves
   * fractions, and so are single shares in the columns of tushare, which has several units for them.
   *
   * @param exponents powers of ten of the units, by names in the table.
   * @returns sentences about other fractions, which land.
   */
  async judgeShares(
    { chosen }: ReadGroup,
    exponents: ReadonlyMap<string, number>,
  ): Promise<readonly string[]> {
    const remarks: string[] = [];
    for (const [name, exponent] of exponents) {
      if (!SHARE_FIELDS.has(name)) continue;
      const number = ident(name);
      const isFraction = `form = ${this.#form} AND ${number} <> trunc(${number})`;
      const isOpen = exponent === 0 && this.#options.volumeUnit === undefined;
      if (exponent !== 0 || (isOpen && /^(?:total|float)_share$/.test(chosen.fields.get(name)?.name ?? ""))) {
        const decides = isOpen ? `: ${DECIDES}` : "";
        await this.#session.run(
          `UPDATE ${this.#raw.name} SET fraction = coalesce(fraction, ${literal(name)} || ' ' || ${number} || ${literal(` has a fraction of a share${decides}`)}) WHERE ${isFraction}`,
        );
      } else if (isOpen) {
        const [row] = await this.#session.json<{ n: string | null }>(
          `SELECT CAST(any_value(${number}) AS VARCHAR) AS n FROM ${this.#raw.name} WHERE ${isFraction}`,
        );
        if (typeof row?.n === "string")
          remarks.push(
            `${name} has fractions of a share, such as ${row.n}, and no unit: ${DECIDES} on another one`,
          );
      }
    }
    return remarks;
  }

  /**
   * @param columns columns by their names in the table, which have a unit.
   * @throws {UsageError} where numbers of such a column say another unit themselves, such as 1.2亿.
   */
  async expectNoScales(
    group: OpenGroup,
    { group: { files } }: ReadGroup,
    columns: readonly (readonly [name: string, column: FileColumn])[],
  ): Promise<void> {
    const texts = columns.flatMap(([, { index, name }]) => {
      const { sql, type } = group.columns[index] as SourceColumn;
      return type === "VARCHAR" ? [{ name, sql, index }] : [];
    });
    if (texts.length === 0) return;
    const found = texts.map(
      ({ sql, index }) => `any_value(${sql}) FILTER (${hasScaleSql(sql)}) AS c${index}`,
    );
    const [row] = await this.#session.json<Record<string, string | null>>(
      `SELECT ${found.join(", ")} FROM (SELECT * FROM ${group.from})`,
    );
    const odd = texts.find(({ index }) => typeof row?.[`c${index}`] === "string");
    if (odd === undefined) return;
    throw new UsageError(
      `file ${files[0]?.path}: the numbers of its column "${odd.name}" are in a unit, and "${row?.[`c${odd.index}`]}" says another one`,
      { hint: "write its numbers without units" },
    );
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

  get symbols(): string {
    return this.#symbols.name;
  }

  get raw(): string {
    return this.#raw.name;
  }

  /** SQL of the dates of rows `r` whose symbols are in `s`: columns, and joins after both. */
  datesSql(): { readonly columns: readonly string[]; readonly joins: string } {
    const columns = this.#fields.dates.flatMap((name, i) => {
      const t = `t${i}`;
      const day = `coalesce(${t}.day, ${t}.own_day, CASE s.region WHEN 'CN' THEN ${t}."day_CN" WHEN 'HK' THEN ${t}."day_HK" ELSE ${t}."day_US" END)`;
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
    return { columns, joins: joins.join(" ") };
  }

  rowsSql(): string {
    const dates = this.datesSql();
    const others = [...this.#fields.texts, ...this.#numbers].map((name) => `r.${ident(name)}`);
    return `(SELECT r.file::BIGINT * 1099511627776 + r.rowid AS "row", r.file, r.rowid - min(r.rowid) OVER (PARTITION BY r.file) AS file_row,
        s.symbol, s.region, s.reason AS symbol_reason, r.symbol AS symbol_text, r.odd, r.fraction, ${[...dates.columns, ...others].join(", ")}
      FROM ${this.#raw.name} r LEFT JOIN ${this.#symbols.name} s ON s.text = r.symbol ${dates.joins})`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const table of [this.#raw, this.#symbols, this.#times]) await table[Symbol.asyncDispose]();
  }
}

/** Fields that count the shares of a company, of which there are no fractions in a unit of many shares. */
export const SHARE_FIELDS: ReadonlySet<string> = new Set(["total_shares", "float_shares"]);

const DECIDES = '`volumeUnit: "ten-thousands"` or `volumeUnit: "thousands"` decides';

/** SQL of the rule and the reason for which a date of a row cannot be used; for a CASE. */
export function dateTests(name: string, isRequired: boolean): string[] {
  const [kind, reason, text] = ["kind", "reason", "text"].map((part) => ident(`${name}_${part}`));
  return [
    `WHEN ${kind} = 'unclear' THEN ['unparsable', '${name} ' || ${reason}]`,
    `WHEN ${kind} = 'none' THEN ['unparsable', '${name} "' || left(${text}, 40) || '" is no date']`,
    ...(isRequired ? [`WHEN ${ident(name)} IS NULL THEN ['null_in_required', '${name} is empty']`] : []),
  ];
}

export const SYMBOL_TESTS: readonly string[] = [
  `WHEN symbol IS NULL THEN ['bad_symbol', coalesce(symbol_reason, 'the symbol is empty')]`,
];

/** SQL of the rule and the reason for which a number of a row cannot be used; for a CASE. */
export const NUMBER_TEST = `WHEN odd IS NOT NULL THEN ['unparsable', odd || ' is not a number']`;

/** SQL of the rule and the reason for which numbers of shares cannot be ones; for a CASE. */
export function sharesTests(names: readonly string[]): string[] {
  const below = names.map((name) => {
    const number = ident(name);
    return `WHEN ${number} < 0 THEN ['out_of_range', '${name} ' || ${number} || ' is below 0']`;
  });
  return [...below, "WHEN fraction IS NOT NULL THEN ['fraction_in_integer', fraction]"];
}
