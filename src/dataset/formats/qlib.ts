import { setImmediate } from "node:timers/promises";
import { type FixedType, type ResultColumn, readColumns } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { UsageError } from "../../core/errors.js";
import { lowerBound } from "../../core/lower-bound.js";
import { dateOfEpochDay, MINUTE_MS } from "../../core/time.js";
import { ident, literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { codeOf, exchangeOf, regionOf } from "../../market/symbol.js";
import type { Block, FieldCells, Labels, PanelShape, PanelSymbol } from "../panel/block.js";
import type { FloatFiles } from "../store/dataset-files.js";
import { labelTexts } from "./csv-profile.js";
import { type DatasetWriter, refuseEqualNames, type WriterPlace } from "./dataset-writer.js";

/** Names that Windows reserves for devices: qlib puts a prefix before them. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)$/;

/** Codes that pandas, with which qlib reads its lists, treats as a missing value. */
const MISSING = /^(na|nan|null|none)$/i;

/** A symbol in qlib's notation: `SH600519`, `HK00700`, `AAPL` for US stocks; `NA.US` where pandas cannot read `NA`. */
export function qlibInstrument(symbol: string): string {
  if (regionOf(symbol) !== "US") return `${exchangeOf(symbol)}${codeOf(symbol)}`;
  return MISSING.test(codeOf(symbol)) ? symbol : codeOf(symbol);
}

/** The folder from which qlib reads an instrument's files. */
export function qlibFolder(symbol: string): string {
  const name = qlibInstrument(symbol).toLowerCase();
  return DEVICES.test(name) ? `_qlib_${name}` : name;
}

/** Versions of one item of an instrument's statements, at least one, ordered by the date of their publication. */
interface PitVersions {
  /** Dates from which they are known, such as 20260430, ascending. */
  readonly dates: Int32Array;
  /** Their years and quarters, such as 202601. */
  readonly periods: Int32Array;
  /** NaN where the statement has no value. */
  readonly values: Float64Array;
}

export interface PitFiles {
  readonly data: Uint8Array;
  readonly index: Uint8Array;
}

const RECORD_BYTES = 20;
/** Position in a record of the offset of the period's next version. */
const NEXT = 16;
/** The offset of a missing version. */
const NONE = 0xffffffff;

/**
 * Writes an item's versions for qlib's point-in-time reader (microsoft/qlib, scripts/dump_pit.py and
 * `read_period_data`), all little-endian. `data`: 20 bytes per version, in the order of publication: uint32 date,
 * uint32 period, float64 value, uint32 offset of the next version of the same period. `index`: uint32 first year, then
 * for each quarter from that year's first to the last year's fourth the uint32 offset of its first version.
 */
export function pitFiles({ dates, periods, values }: PitVersions): PitFiles {
  const years = periods.map((period) => Math.floor(period / 100));
  const firstYear = years.reduce((least, year) => Math.min(least, year));
  const lastYear = years.reduce((most, year) => Math.max(most, year));
  const data = new DataView(new ArrayBuffer(dates.length * RECORD_BYTES));
  const index = new DataView(new ArrayBuffer(4 + (lastYear - firstYear + 1) * 4 * 4));
  new Uint8Array(index.buffer).fill(0xff);
  index.setUint32(0, firstYear, true);
  const newest = new Map<number, number>();
  for (const [i, period] of periods.entries()) {
    const at = i * RECORD_BYTES;
    data.setUint32(at, dates[i] as number, true);
    data.setUint32(at + 4, period, true);
    data.setFloat64(at + 8, values[i] as number, true);
    data.setUint32(at + NEXT, NONE, true);
    const before = newest.get(period);
    const quarter = ((years[i] as number) - firstYear) * 4 + (period % 100) - 1;
    if (before === undefined) index.setUint32(4 + quarter * 4, at, true);
    else data.setUint32(before + NEXT, at, true);
    newest.set(period, at);
  }
  return { data: new Uint8Array(data.buffer), index: new Uint8Array(index.buffer) };
}

/** Symbols whose versions are read together: some 10,000 rows. */
const SYMBOLS_AT_ONCE = 200;
const NUMBERS = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|FLOAT|DOUBLE|DECIMAL)/;

const KEYS = { s: "int32", date: "int32", period: "int32" } as const;

interface Statement {
  /** Name of the table, such as `balance_sheet`. */
  readonly table: string;
  readonly items: readonly string[];
  /** Versions written so far. */
  versions: number;
}

/**
 * Writes every version of statements' items that was known by a dataset's last label, with the date from which it was
 * known, in qlib's point-in-time layout: `financial/<instrument>/<table>_<item>_q.data` and `.index`, since names in
 * qlib's expressions consist of letters, digits and underscores: `balance_sheet.total_assets` is
 * `P($$balance_sheet_total_assets_q)`. An instrument without a version has no files. `write` throws {@link UsageError}
 * for items that the lake does not have.
 */
function statementWriter(place: WriterPlace, names: readonly string[]): DatasetWriter {
  let statements: readonly Statement[] | undefined;
  return {
    async write({ symbols }) {
      statements ??= await findItems(place, names);
      for (const statement of statements) {
        for (let start = 0; start < symbols.length; start += SYMBOLS_AT_ONCE) {
          const some = symbols.slice(start, start + SYMBOLS_AT_ONCE);
          statement.versions += await writeVersions(place, statement, some);
          await setImmediate();
        }
      }
    },
    async finish() {
      for (const { table, versions } of statements ?? [])
        if (versions === 0) place.warn(`no ${table} of its symbols was known by its last day`);
    },
  };
}

async function findItems({ session, spec }: WriterPlace, names: readonly string[]): Promise<Statement[]> {
  const tables = new Map<string, Set<string>>();
  for (const name of names) {
    const [table, item] = name.split(".") as [string, string];
    tables.set(table, (tables.get(table) ?? new Set()).add(item));
  }
  const statements: Statement[] = [];
  for (const [table, items] of tables) {
    const known = await itemsOf(session, table);
    for (const item of items) {
      if (known.includes(item)) continue;
      throw new UsageError(`dataset ${spec.name}: statements: ${table} has no item ${item}`, {
        hint: `it has ${known.join(", ")}`,
      });
    }
    statements.push({ table, items: [...items], versions: 0 });
  }
  return statements;
}

/** The numeric items of a kind of statement in this lake: sources may report more than the schema defines. */
async function itemsOf(session: Session, table: string): Promise<string[]> {
  const columns = await session.json<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns()
     WHERE schema_name = 'raw' AND table_name = ${literal(table)} ORDER BY name`,
  );
  return columns.filter(({ type }) => NUMBERS.test(type)).map(({ name }) => name);
}

/** @returns the number of versions that it wrote. */
async function writeVersions(
  { files, session, shape: { labels } }: WriterPlace,
  statement: Statement,
  symbols: readonly PanelSymbol[],
): Promise<number> {
  const sql = versionsSql(statement, symbols, labels.days[labels.count - 1] as number);
  const items = Object.fromEntries(statement.items.map((_, i) => [`item${i}`, "double" as const]));
  const shape: Readonly<Record<string, FixedType>> & typeof KEYS = { ...items, ...KEYS };
  const { rows, columns } = await readColumns(await session.run(sql), shape);
  for (let start = 0, end = 0; start < rows; start = end) {
    const s = columns.s.values[start] as number;
    while (end < rows && columns.s.values[end] === s) end++;
    const folder = `financial/${qlibFolder((symbols[s] as PanelSymbol).symbol)}`;
    for (const [i, item] of statement.items.entries()) {
      const { values, validity } = columns[`item${i}`] as ResultColumn<"double">;
      const { data, index } = pitFiles({
        dates: columns.date.values.subarray(start, end),
        periods: columns.period.values.subarray(start, end),
        values: Float64Array.from({ length: end - start }, (_, row) =>
          isPresent(validity, start + row) ? (values[start + row] as number) : Number.NaN,
        ),
      });
      const path = `${folder}/${statement.table}_${item}_q`;
      files.put(`${path}.data`, data);
      files.put(`${path}.index`, index);
    }
  }
  return rows;
}

/**
 * Every version known by a day, in the order of the history views. If two periods end in one quarter, as when a fiscal
 * year is moved, the later one is used from the date on which it is known. qlib accepts 1900 to 2099.
 */
function versionsSql({ table, items }: Statement, symbols: readonly PanelSymbol[], lastDay: number): string {
  const names = symbols.map(({ symbol }) => symbol);
  const values = items.map((item, i) => `CAST(${ident(item)} AS DOUBLE) AS item${i}`).join(", ");
  return `WITH versions AS (
      SELECT n.s, period_end, announce_date, first_seen_at, known_from AS known, period_month(period_end) AS period_month,
        ${values}
      FROM known_versions('raw.${table}')
      JOIN (SELECT unnest(${literalList(names)}) AS symbol, CAST(unnest(range(${names.length})) AS INTEGER) AS s) AS n USING (symbol)),
    quarters AS (
      SELECT *, CAST(year(period_month) * 100 + quarter(period_month) AS INTEGER) AS period FROM versions
      WHERE known <= DATE '${dateOfEpochDay(lastDay)}' AND year(period_month) BETWEEN 1900 AND 2099)
    SELECT ${items.map((_, i) => `item${i}`).join(", ")},
      s, CAST(year(known) * 10000 + month(known) * 100 + day(known) AS INTEGER) AS date, period
    FROM quarters
    QUALIFY period_month >= max(period_month) OVER (
      PARTITION BY s, period ORDER BY known, first_seen_at, announce_date NULLS FIRST, period_end ROWS UNBOUNDED PRECEDING)
    ORDER BY s, known, first_seen_at, announce_date NULLS FIRST, period_end`;
}

/** A range of labels, both ends inclusive. */
interface Run {
  readonly first: number;
  readonly last: number;
}

/**
 * Writes qlib's own layout (microsoft/qlib, docs/component/data.rst): `calendars/day.txt`; `instruments/all.txt` and
 * one file for the universe, with `instrument, first date, last date` separated by tabs; and
 * `features/<instrument>/<field>.day.bin`, little-endian float32: the first number is the calendar index of the second
 * one. Masks are fields of 0 and 1. Minutes are `1min`, and labelled by their start. Statements are in `financial/`.
 *
 * @throws {UsageError} for names that are equal in lower case, in which qlib reads them.
 */
export function qlibWriter(place: WriterPlace): DatasetWriter {
  const { spec, shape, files, continued } = place;
  refuseNames(place);
  const frequency = spec.period === "1m" ? "1min" : "day";
  const texts = labelTexts(startsOf(shape.labels), place.zone);
  const columns = [...shape.fields.map(({ name }) => name), ...shape.masks];
  const endings = columns.map((name) => `${name.toLowerCase()}.${frequency}.bin`);
  /** The indexes of the columns, by the names of their files: the list of files is nearly sorted then. */
  const order = [...endings.keys()].sort((a, b) =>
    (endings[a] as string) < (endings[b] as string) ? -1 : 1,
  );
  const statements = spec.statements && statementWriter(place, spec.statements);
  const all: string[] = [];
  const members: string[] = [];
  const line = (symbol: string, { first, last }: Run): string =>
    `${qlibInstrument(symbol)}\t${texts(first)}\t${texts(last)}\n`;
  const featuresOf = (block: Block): FloatFiles => {
    const own = [...block.symbols.keys()].filter((s) => (block.first[s] as number) >= 0);
    const of = (value: (s: number) => number): Float64Array => Float64Array.from(own, value);
    const before = (s: number): number => continued?.[block.start + s] ?? -1;
    const first = (s: number): number => block.first[s] as number;
    const cells = [...block.fields, ...block.masks];
    const cellOf = (s: number, label: number): number => s * block.width + label - block.since;
    return {
      folders: own.map((s) => `features/${qlibFolder((block.symbols[s] as PanelSymbol).symbol)}`),
      heads: of((s) => (before(s) < 0 ? first(s) : Number.NaN)),
      starts: of((s) => cellOf(s, before(s) < 0 ? first(s) : before(s) + 1)),
      ends: of((s) => cellOf(s, (block.last[s] as number) + 1)),
      columns: order.map((c) => ({ name: endings[c] as string, cells: cells[c] as FieldCells | Uint8Array })),
    };
  };
  return {
    async write(block) {
      await statements?.write(block);
      for (const [s, { symbol }] of block.symbols.entries()) {
        const run = { first: block.first[s] as number, last: block.last[s] as number };
        if (run.first < 0) continue;
        all.push(line(symbol, run));
        for (const member of memberRuns(block, s, shape, run)) members.push(line(symbol, member));
      }
      await files.putAll(featuresOf(block));
    },
    async finish() {
      const labels = Array.from({ length: shape.labels.count }, (_, label) => `${texts(label)}\n`);
      files.put(`calendars/${frequency}.txt`, labels.join(""));
      warnOfMinutes(place, labels);
      files.put("instruments/all.txt", all.join(""));
      const universe = typeof spec.universe === "string" ? spec.universe : spec.name;
      if (universe.toLowerCase() !== "all")
        files.put(`instruments/${fileName(universe)}.txt`, members.join(""));
      await statements?.finish();
    },
  };
}

/** Labels minutes by their start: qlib's minutes begin at 09:30 and 13:00 (qlib/utils/time.py, `get_min_cal`). */
function startsOf(labels: Labels): Labels {
  return { ...labels, times: labels.times?.map((end) => end - MINUTE_MS) };
}

/** Sessions that qlib supports, as minutes labelled by their start. */
const SESSIONS: Readonly<Record<string, RegExp>> = {
  "Asia/Shanghai": / (09:[345]\d|10:\d\d|11:[012]\d|13:\d\d|14:\d\d):/,
  "America/New_York": / (09:[345]\d|1[0-5]:\d\d):/,
};

function warnOfMinutes({ shape, zone, warn }: WriterPlace, labels: readonly string[]): void {
  const session = SESSIONS[zone];
  if (shape.labels.times === undefined || session === undefined) return;
  const outside = labels.filter((text) => !session.test(text));
  if (outside.length > 0)
    warn(
      `${outside.length} minutes lie outside of qlib's sessions, ${outside[0]?.trim()} among them: it reads them, but what resamples minutes, or wants 240 a day, does not expect them`,
    );
}

function refuseNames({ spec, shape }: WriterPlace): void {
  const reason = "qlib, which reads names in lower case";
  const columns = [...shape.fields.map(({ name }) => name), ...shape.masks];
  refuseEqualNames(`dataset ${spec.name}: fields`, columns, (name) => name.toLowerCase(), reason);
  const symbols = shape.symbols.map(({ symbol }) => symbol);
  refuseEqualNames(`dataset ${spec.name}: universe`, symbols, qlibFolder, reason);
}

/** A universe's file name: qlib reads it in lower case. */
function fileName(universe: string): string {
  return universe.toLowerCase().replaceAll(/[^a-z0-9_.-]/g, "_");
}

/** The ranges of labels at which a symbol is in the universe, between its first bar and its last. */
function memberRuns(
  { symbols, eligibleFrom }: Block,
  s: number,
  shape: PanelShape,
  { first, last }: Run,
): Run[] {
  const { days } = shape.labels;
  const start = Math.max(first, eligibleFrom[s] as number);
  const labelAt = (day: number): number =>
    lowerBound(start, last + 1, (label) => (days[label] as number) >= day);
  const runs: Run[] = [];
  for (const range of symbols[s]?.memberRanges ?? []) {
    const run = { first: labelAt(range.start), last: labelAt(range.end) - 1 };
    if (run.first > run.last) continue;
    const before = runs.at(-1);
    // Spells begin in ascending order, and may overlap.
    if (before === undefined || run.first > before.last + 1) runs.push(run);
    else runs[runs.length - 1] = { first: before.first, last: Math.max(before.last, run.last) };
  }
  return runs;
}
