import { UsageError } from "../../../core/errors.js";
import { nearestName } from "../../../core/text-order.js";
import type { AmountUnit, VolumeUnit } from "../import-options.js";
import { amountUnit, fieldNames, plainName, UNUSED_ADVICE, volumeUnit } from "./field-names.js";
import { type NamedUnit, unitOfName } from "./named-unit.js";

export interface KnownSource {
  readonly name: string;
  /** Tables of which it delivers files: the beginnings of their names. */
  readonly table: string;
  /** Columns, in plain notation, that no other source has together. */
  readonly columns: readonly string[];
  /** Columns that its files do not have, and those of another source do. @default none */
  readonly without?: readonly string[];
  /** Units of its files of bars. @default shares and single units of the currency */
  readonly volumeUnit?: "lots";
  readonly amountUnit?: "thousands";
  /** Names of columns that only in its files are these fields, as they do not say for how many shares. @default none */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  /** Held shares for which its actions are. @default 1 */
  readonly forShares?: 10;
}

/** Units are as the documentation of each source states them; the numbers of a file must agree with them. */
const SOURCES: readonly KnownSource[] = [
  {
    name: "tushare",
    table: "bars_1d",
    columns: ["ts_code", "trade_date", "pct_chg", "vol", "amount"],
    volumeUnit: "lots",
    amountUnit: "thousands",
  },
  { name: "tushare minutes", table: "bars_1m", columns: ["ts_code", "trade_time", "vol"] },
  {
    name: "akshare (Eastmoney)",
    table: "bars_1d",
    columns: ["日期", "开盘", "收盘", "成交量", "成交额", "振幅", "换手率"],
    volumeUnit: "lots",
  },
  {
    name: "akshare (Eastmoney) minutes",
    table: "bars_1m",
    columns: ["时间", "开盘", "收盘", "成交量", "成交额"],
    without: ["日期"],
    volumeUnit: "lots",
  },
  { name: "baostock", table: "bars_", columns: ["date", "code", "adjustflag"] },
  {
    name: "Tongdaxin",
    table: "bars_",
    columns: ["日期", "开盘", "最高", "最低", "收盘", "成交量", "成交额"],
    without: ["股票代码", "证券代码", "代码"],
  },
  {
    name: "Yahoo Finance",
    table: "bars_",
    columns: ["date", "open", "high", "low", "close", "adj_close", "volume"],
  },
  {
    name: "Yahoo Finance",
    table: "bars_",
    columns: ["date", "open", "high", "low", "close", "volume", "dividends", "stock_splits"],
  },
  {
    name: "Yahoo Finance",
    table: "corporate_actions",
    columns: ["date", "dividends", "stock_splits"],
  },
  {
    name: "Yahoo Finance",
    table: "corporate_actions",
    columns: ["date", "dividends"],
    without: ["symbol", "ticker", "code", "split", "splits", "kind"],
  },
  {
    name: "Tongdaxin",
    table: "corporate_actions",
    columns: ["year", "month", "day", "category", "fenhong", "songzhuangu", "peigu", "peigujia", "suogu"],
    forShares: 10,
  },
  // akfamily/akshare: stock_history_dividend_detail of dividends, and of rights; stock_fhps_em and stock_fhps_detail_em;
  // stock_dividend_cninfo.
  {
    name: "akshare (Sina)",
    table: "corporate_actions",
    columns: ["公告日期", "送股", "转增", "派息", "除权除息日"],
    names: { cash: ["派息"], stock_dividend: ["送股"], transferred: ["转增"] },
    forShares: 10,
  },
  {
    name: "akshare (Sina)",
    table: "corporate_actions",
    columns: ["公告日期", "配股方案", "配股价格", "除权日"],
    names: { rights: ["配股方案"], price: ["配股价格"] },
    forShares: 10,
  },
  {
    name: "akshare (Eastmoney)",
    table: "corporate_actions",
    columns: ["送转股份-送转总比例", "现金分红-现金分红比例", "除权除息日"],
    // The announcement of what was carried out: that of the plan does not have its dates yet.
    names: {
      cash: ["现金分红-现金分红比例"],
      stock_dividend: ["送转股份-送转总比例"],
      announce_date: ["最新公告日期"],
    },
    forShares: 10,
  },
  {
    name: "akshare (cninfo)",
    table: "corporate_actions",
    columns: ["送股比例", "转增比例", "派息比例", "除权日"],
    names: { cash: ["派息比例"], stock_dividend: ["送股比例"], transferred: ["转增比例"] },
    forShares: 10,
  },
  { name: "LEAN", table: "ex_factors", columns: ["date", "price_factor", "split_factor", "reference_price"] },
  { name: "LEAN", table: "symbol_changes", columns: ["date", "map_ticker"] },
  { name: "tushare", table: "corporate_actions", columns: ["ts_code", "cash_div_tax", "stk_div", "ex_date"] },
  {
    name: "Stooq",
    table: "bars_",
    columns: ["ticker", "per", "date", "time", "open", "high", "low", "close", "vol", "openint"],
  },
  {
    name: "Massive (Polygon) flat files",
    table: "bars_",
    columns: ["ticker", "volume", "open", "close", "high", "low", "window_start", "transactions"],
  },
  {
    name: "Alpha Vantage",
    table: "bars_",
    columns: ["timestamp", "open", "high", "low", "close", "adjusted_close", "volume", "dividend_amount"],
  },
  {
    name: "barlake",
    table: "bars_",
    columns: [
      "symbol",
      "timestamp",
      "trade_date",
      "open",
      "high",
      "low",
      "close",
      "volume",
      "amount",
      "lot",
      "is_final",
    ],
  },
];

/** A column of a file: its place, from 0, and its name in the header. */
export interface FileColumn {
  readonly index: number;
  readonly name: string;
}

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
