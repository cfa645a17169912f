import { UsageError } from "../../../core/errors.js";
import { nearestName } from "../../../core/nearest-name.js";
import type { AmountUnit, VolumeUnit } from "../import-options.js";
import { amountUnit, fieldNames, plainName, UNUSED_ADVICE, volumeUnit } from "./field-names.js";
import { type KnownSource, SOURCES } from "./known-sources.js";
import { type NamedUnit, unitOfName } from "./named-unit.js";

/** A column of a file: its place, from 0, and its name in the header. */
export interface FileColumn {
  readonly index: number;
  readonly name: string;
}

/** Which columns of a file are which fields. */
export interface ChosenColumns {
  readonly fields: ReadonlyMap<string, FileColumn>;
  readonly source: KnownSource | undefined;
  /** Units that the names of columns say. */
  readonly units: NamedUnits;
  /** Columns that are used for nothing, each with what could be done. */
  readonly unused: readonly { readonly name: string; readonly advice: string | undefined }[];
}

/** Units that the names of columns say, such as `成交量(手)`. */
export interface NamedUnits {
  readonly volume: VolumeUnit | undefined;
  readonly amount: AmountUnit | undefined;
}

/** Names that several fields share, and that are of the second one only where the first has another column. */
const SECOND_CHOICE: Readonly<Record<string, string>> = { name: "symbol" };

/**
 * Finds the column of each field of a table.
 *
 * @param columns the names in the header, in the order of the file.
 * @param map the file's names by field, from the user.
 * @param givenUnit the unit of volumes, if the user says it.
 * @throws {UsageError} for a mapped column that does not exist, and where two columns may be one field.
 */
export function chooseColumns(
  path: string,
  table: string,
  columns: readonly string[],
  map: Readonly<Record<string, string>>,
  givenUnit?: VolumeUnit,
): ChosenColumns {
  const all = columns.map((name, index) => ({ index, name, plain: plainName(name) }));
  const source = SOURCES.find(
    (one) =>
      (table.startsWith(one.table) || one.table === table) &&
      one.columns.every((name) => all.some(({ plain }) => plain === name)) &&
      !one.without?.some((name) => all.some(({ plain }) => plain === name)),
  );
  const fields = new Map<string, FileColumn>();
  const taken = new Set<number>();
  const take = (field: string, { index, name }: FileColumn): void => {
    fields.set(field, { index, name });
    taken.add(index);
  };
  for (const [field, theirs] of Object.entries(map)) {
    const found = all.filter(({ name }) => name === theirs);
    if (found.length === 0) throw noSuchColumn(path, field, theirs, columns);
    if (found.length > 1) throw twice(path, field, theirs, found.length);
    take(field, found[0] as FileColumn);
  }
  for (const [field, names] of Object.entries(fieldNames(table))) {
    if (fields.has(field)) continue;
    for (const candidate of [...(source?.names?.[field] ?? []), ...names]) {
      const same = all.filter(({ index, plain }) => plain === candidate && !taken.has(index));
      // Polygon's rows of all tickers have the ticker as T, beside the time t.
      const isLetter = candidate.length === 1 && same.length > 1;
      const found = isLetter ? same.filter(({ name }) => name === candidate) : same;
      if (found.length === 0) continue;
      if (isBarName(table, field, candidate) && !isTickerColumn(all)) continue;
      if (found.length > 1) throw twice(path, field, (found[0] as FileColumn).name, found.length);
      take(field, found[0] as FileColumn);
      break;
    }
  }
  const ticker = all.find(({ index, name }) => name === "T" && !taken.has(index));
  if (ticker !== undefined && fields.get("timestamp")?.name === "t" && !fields.has("symbol"))
    take("symbol", ticker);
  if (table.startsWith("bars_")) keepTimeTogether(fields, taken);
  if (map.lot === undefined && source?.name !== "barlake") {
    const lot = fields.get("lot");
    if (lot !== undefined && givenUnit === undefined) throw unclearLot(path, lot.name);
    if (lot !== undefined) taken.delete(lot.index);
    fields.delete("lot");
  }
  const unused = all
    .filter(({ index, plain }) => !taken.has(index) && plain !== "")
    .map(({ name, plain }) => ({ name, advice: UNUSED_ADVICE.find(([names]) => names.test(plain))?.[1] }));
  const named = new Map(
    [...fields].flatMap(([field, { name }]): [string, NamedUnit][] => {
      const unit = unitOfName(name);
      return unit === undefined ? [] : [[field, unit]];
    }),
  );
  const [volume, amount] = [named.get("volume"), named.get("amount")];
  const units = {
    volume: volume && volumeUnit(volume),
    amount: amount && amountUnit(amount),
  };
  // Items of statements have kinds of their own, which their import knows.
  if (table.startsWith("bars_") || table === "instruments")
    for (const [field, unit] of named) expectUnit(path, field, fields.get(field) as FileColumn, unit);
  return { fields, source, units, unused };
}

/** @throws {UsageError} where a column is in a unit in which its field is not read. */
function expectUnit(path: string, field: string, column: FileColumn, unit: NamedUnit): void {
  const isRead = ((): boolean => {
    switch (field) {
      case "volume":
        return volumeUnit(unit) !== undefined;
      case "amount":
        return amountUnit(unit) !== undefined;
      case "total_shares":
      case "float_shares":
        return unit.of === "shares" || unit.of === undefined;
      case "open_interest":
      case "lot":
      case "lot_size":
        return unit.of !== "money" && unit.exponent === 0;
      default:
        return unit.of === "money" && unit.exponent === 0;
    }
  })();
  if (isRead) return;
  throw new UsageError(
    `file ${path}: its column "${column.name}" is in units of "${unit.text}", in which ${field} is not read`,
    { hint: `write it in another unit, or name the column of ${field} with \`map: { ${field}: "COLUMN" }\`` },
  );
}

/** In files of bars `name` may be a company's name: it is a ticker where no other column is. */
function isBarName(table: string, field: string, candidate: string): boolean {
  return table.startsWith("bars_") && SECOND_CHOICE[candidate] === field;
}

function isTickerColumn(all: readonly { readonly plain: string }[]): boolean {
  return !all.some(({ plain }) => ["symbol", "ts_code", "ticker", "code"].includes(plain));
}

/** A time of day belongs to a date: a column `time` alone is the whole time. */
function keepTimeTogether(fields: Map<string, FileColumn>, taken: Set<number>): void {
  const clock = fields.get("time_of_day");
  if (clock === undefined) return;
  const date = fields.get("timestamp");
  if (date === undefined) {
    fields.set("timestamp", clock);
    fields.delete("time_of_day");
  } else if (!/^(?:date|trade_?date|trading_date|日期|交易日期|day)$/.test(plainName(date.name))) {
    fields.delete("time_of_day");
    taken.delete(clock.index);
  }
}

/** In exports of the lake a volume counts lots of this many shares; other vendors mean the lot of orders. */
function unclearLot(path: string, name: string): UsageError {
  return new UsageError(`file ${path}: its column "${name}" may say what its volumes count`, {
    hint: `add \`map: { lot: "${name}" }\` if they count lots of so many shares, or \`volumeUnit: "shares"\` if they count shares`,
  });
}

function noSuchColumn(path: string, field: string, theirs: string, columns: readonly string[]): UsageError {
  const likely = nearestName(theirs, columns);
  return new UsageError(`file ${path}: has no column "${theirs}", which \`map\` gives for ${field}`, {
    hint: `${likely === undefined ? "" : `did you mean ${likely}? `}its columns are ${columns.join(", ")}`,
  });
}

function twice(path: string, field: string, name: string, count: number): UsageError {
  return new UsageError(`file ${path}: has ${count} columns "${name}", and ${field} can be only one`, {
    hint: "rename one of them, or write a file for each symbol",
  });
}
