import type { Column, TableSchema } from "./column.js";

const VALIDITY: readonly Column[] = [
  { name: "valid_from", type: "timestamp", unit: "UTC", doc: "When this content was first seen." },
  {
    name: "valid_to",
    type: "timestamp",
    nullable: true,
    unit: "UTC",
    doc: "When other content, or none, was first seen instead; null while it is current.",
  },
];

/** Whether the rows of a table are dated versions, each of which ends where the next one of its subject begins. */
export function hasVersions({ columns }: TableSchema): boolean {
  return columns.some(({ name }) => name === "valid_to");
}

/** The columns that name the subject of a dated version. */
export function subjectOf({ key }: TableSchema): string[] {
  return key.filter((name) => name !== "valid_from");
}

const REGION: Column = { name: "region", type: "string", doc: "Region: CN, HK or US." };

/** Members of an instrument's `ext` that have their own column; all other members are in `ext_other`. */
export const INSTRUMENT_EXT: readonly Column[] = [
  { name: "float_shares", type: "double", nullable: true, unit: "shares", doc: "Shares that trade freely." },
  { name: "total_shares", type: "double", nullable: true, unit: "shares", doc: "Shares issued." },
  {
    name: "limit_up",
    type: "double",
    nullable: true,
    unit: "currency",
    doc: "Highest price permitted that day; 100000 means that there is none.",
  },
  {
    name: "limit_down",
    type: "double",
    nullable: true,
    unit: "currency",
    doc: "Lowest price permitted that day.",
  },
  { name: "tick_size", type: "double", nullable: true, unit: "currency", doc: "Smallest step of the price." },
  { name: "lot_size", type: "double", nullable: true, unit: "shares", doc: "Shares of a board lot." },
  { name: "listing_date", type: "date", nullable: true, doc: "First trading date." },
  { name: "name_en", type: "string", nullable: true, doc: "English name." },
];

export const INSTRUMENTS: TableSchema = {
  name: "instruments",
  doc: "Instrument metadata as dated versions: a row for each content ever seen. Key: symbol, valid_from.",
  columns: [
    { name: "symbol", type: "string", doc: "Instrument symbol, <code>.<exchange suffix>." },
    { name: "code", type: "string", doc: "Code within the exchange." },
    { name: "exchange", type: "string", doc: "Exchange suffix." },
    { name: "name", type: "string", nullable: true, doc: "Display name." },
    {
      name: "type",
      type: "string",
      doc: "Kind of instrument: stock, etf, index, bond, fund, futures, options, other.",
    },
    {
      name: "ext_type",
      type: "string",
      nullable: true,
      doc: "Variant of the service's ext object, such as cn_equity.",
    },
    ...INSTRUMENT_EXT,
    { name: "ext_other", type: "string", nullable: true, doc: "Other members of ext, as JSON text." },
    ...VALIDITY,
    REGION,
  ],
  key: ["symbol", "valid_from"],
  sort: ["symbol", "valid_from"],
  partition: ["region"],
  stats: ["symbol", "valid_from"],
};

export const EXCHANGES: TableSchema = {
  name: "exchanges",
  doc: "Exchanges as dated versions. Key: exchange, valid_from.",
  columns: [
    { name: "exchange", type: "string", doc: "Exchange suffix." },
    { name: "count", type: "int64", unit: "instruments", doc: "Number of instruments." },
    ...VALIDITY,
    REGION,
  ],
  key: ["exchange", "valid_from"],
  sort: ["exchange", "valid_from"],
  partition: ["region"],
  stats: ["exchange", "valid_from"],
};

export const UNIVERSES: TableSchema = {
  name: "universes",
  doc: "Named groups of instruments as dated versions. Key: id, valid_from.",
  columns: [
    { name: "id", type: "string", doc: "Universe id." },
    { name: "name", type: "string", doc: "Display name." },
    { name: "category", type: "string", doc: "Category, as the source names it." },
    { name: "symbol_count", type: "int64", unit: "instruments", doc: "Number of members." },
    { name: "description", type: "string", nullable: true, doc: "Description." },
    ...VALIDITY,
    REGION,
  ],
  key: ["id", "valid_from"],
  sort: ["id", "valid_from"],
  partition: ["region"],
  stats: ["id", "valid_from"],
};

export const UNIVERSE_MEMBERS: TableSchema = {
  name: "universe_members",
  doc: "Members of universes as dated versions: from when to when each was seen, or was by an import. Key: id, symbol, valid_from.",
  columns: [
    { name: "id", type: "string", doc: "Universe id." },
    { name: "symbol", type: "string", doc: "Member." },
    ...VALIDITY,
    REGION,
    {
      name: "source",
      type: "string",
      nullable: true,
      isAdded: true,
      doc: "Who said so, of a membership that was imported with its dates; null where this lake saw it.",
    },
  ],
  key: ["id", "symbol", "valid_from"],
  sort: ["id", "symbol", "valid_from"],
  partition: ["region"],
  stats: ["id", "symbol", "valid_from"],
};

/** The columns of a table of quotes: the members of a quote, and those of its `ext`. */
export const QUOTE_COLUMNS: readonly Column[] = [
  { name: "symbol", type: "string", doc: "Instrument symbol." },
  { name: "region", type: "string", nullable: true, doc: "Region: CN, HK or US." },
  { name: "session", type: "string", nullable: true, doc: "State of the market." },
  { name: "timestamp", type: "timestamp", unit: "UTC", doc: "Time of the quote." },
  { name: "last_price", type: "double", unit: "currency", doc: "Latest price." },
  { name: "open", type: "double", nullable: true, unit: "currency", doc: "First price of the day." },
  { name: "high", type: "double", nullable: true, unit: "currency", doc: "Highest price of the day." },
  { name: "low", type: "double", nullable: true, unit: "currency", doc: "Lowest price of the day." },
  { name: "prev_close", type: "double", unit: "currency", doc: "Close of the session before; 0: not known." },
  { name: "volume", type: "double", unit: "lots of 100 shares in CN, else shares", doc: "Traded volume." },
  { name: "amount", type: "double", unit: "currency", doc: "Traded amount." },
  { name: "ext_type", type: "string", nullable: true, doc: "Variant of the ext object, such as cn_equity." },
  { name: "name", type: "string", nullable: true, doc: "Display name." },
  { name: "change_amount", type: "double", nullable: true, unit: "currency", doc: "Change of the price." },
  { name: "change_pct", type: "double", nullable: true, unit: "ratio", doc: "Change: 0.01 is 1 %." },
  {
    name: "amplitude",
    type: "double",
    nullable: true,
    unit: "ratio",
    doc: "High minus low, by the previous close.",
  },
  {
    name: "turnover_rate",
    type: "double",
    nullable: true,
    unit: "ratio",
    doc: "Volume by the shares that trade freely.",
  },
];
