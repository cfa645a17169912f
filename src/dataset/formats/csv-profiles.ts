import { UsageError } from "../../core/errors.js";
import { labelTexts } from "../cells/label-texts.js";
import type { Block } from "../panel/block.js";
import type { WriterPlace } from "./dataset-writer.js";
import { refuseEqualNames } from "./equal-names.js";

/** The CSV layout of a symbol's rows. */
export interface CsvProfile {
  /** Folder of the files, ending with `/`; empty for the dataset's folder. */
  readonly folder: string;
  readonly header: string;
  /** Name of a symbol's file, without its extension. */
  nameOf(symbol: string): string;
  /** Prepares a symbol of a block. The returned function returns the line of a label. */
  open(block: Block, symbol: number): Promise<(label: number) => string>;
}

const PRICES = ["open", "high", "low", "close"] as const;

/** The profile of a spec's format. @throws {UsageError} for a field that the format needs and the spec lacks. */
export function csvProfile(place: WriterPlace): CsvProfile {
  const { format } = place.spec;
  if (format === "backtrader") return backtraderProfile(place);
  if (format === "zipline-csvdir") return ziplineProfile(place);
  return plainProfile(place);
}

/** `trade_date` (for minutes `timestamp`, in the exchange's zone), fields, masks as 0 and 1; no value is empty. */
function plainProfile({ shape, zone }: WriterPlace): CsvProfile {
  const texts = labelTexts(shape.labels, zone);
  const label = shape.labels.times === undefined ? "trade_date" : "timestamp";
  const names = [label, ...shape.fields.map(({ name }) => name), ...shape.masks];
  return {
    folder: "",
    header: `${names.join(",")}\n`,
    nameOf: (symbol) => symbol,
    async open({ fields, masks, width }, s) {
      return (at) => {
        let line = texts(at);
        for (const cells of fields) line += `,${numberText(cells[s * width + at] as number)}`;
        for (const cells of masks) line += `,${cells[s * width + at] as number}`;
        return `${line}\n`;
      };
    },
  };
}

/**
 * The columns of backtrader's `GenericCSVData` by default: `datetime, open, high, low, close, volume, openinterest`,
 * then the other fields. A missing price is empty, which backtrader reads as NaN.
 */
function backtraderProfile(place: WriterPlace): CsvProfile {
  const { shape, zone } = place;
  const texts = labelTexts(shape.labels, zone);
  const [ohlc, volume] = [PRICES.map((name) => fieldIndex(place, name)), fieldIndex(place, "volume")];
  const interest = shape.fields.findIndex(({ name }) => name === "open_interest");
  const taken = new Set([...ohlc, volume, interest]);
  const others = shape.fields.flatMap(({ name }, f) => (taken.has(f) ? [] : [{ name, f }]));
  const names = ["datetime", ...PRICES, "volume", "openinterest", ...others.map(({ name }) => name)];
  return {
    folder: "",
    header: `${names.join(",")}\n`,
    nameOf: (symbol) => symbol,
    async open({ fields, width }, s) {
      const text = (f: number, at: number): string => numberText(fields[f]?.[s * width + at] ?? Number.NaN);
      return (at) => {
        const traded = volumeOf(fields[volume]?.[s * width + at]);
        const cells = [...ohlc.map((f) => text(f, at)), traded, interest < 0 ? 0 : text(interest, at)];
        return `${[texts(at), ...cells, ...others.map(({ f }) => text(f, at))].join(",")}\n`;
      };
    },
  };
}

/** Largest number in zipline's files: unsigned 32 bits; prices are in thousandths. */
const UINT32 = 0xffffffff;

/**
 * The layout of zipline's `csvdir` bundle: `daily/600519_SH.csv` (zipline cuts names at a dot), or `minute/` in UTC,
 * with `date, open, high, low, close, volume, dividend, split` on every session from the first to the last. zipline
 * stores days without trades as 0, and volumes as 32-bit integers. Unadjusted prices come with `split`: the ratio by
 * which prices before an ex-date are divided, dividends included; adjusted prices need none.
 */
function ziplineProfile(place: WriterPlace): CsvProfile {
  const { shape, spec, session, warn } = place;
  const { days } = shape.labels;
  const nameOf = (symbol: string): string => symbol.replaceAll(".", "_");
  const all = shape.symbols.map(({ symbol }) => symbol);
  refuseEqualNames(`dataset ${spec.name}: universe`, all, nameOf, "zipline, whose names have no dot");
  const texts = labelTexts(shape.labels, "UTC");
  const [ohlc, volume] = [PRICES.map((name) => fieldIndex(place, name)), fieldIndex(place, "volume")];
  let splits: Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> | undefined;
  let hasWarned = false;
  return {
    folder: spec.period === "1m" ? "minute/" : "daily/",
    header: "date,open,high,low,close,volume,dividend,split\n",
    nameOf,
    async open({ fields, first, width, symbols }, s) {
      splits ??= spec.adjustment === "none" ? readSplits(session) : Promise.resolve(new Map());
      const { symbol = "" } = symbols[s] ?? {};
      const own = (await splits).get(symbol);
      return (at) => {
        const cell = s * width + at;
        const prices = ohlc.map((f) => numberOr0(fields[f]?.[cell]));
        const shares = volumeOf(fields[volume]?.[cell]);
        if (!hasWarned && (shares > UINT32 || prices.some((price) => price * 1000 > UINT32))) {
          hasWarned = true;
          warn(
            `zipline holds volumes up to ${UINT32} and prices up to ${UINT32 / 1000}: greater ones are cut to these, ${symbol} has some`,
          );
        }
        const limited = prices.map((price) => numberText(Math.min(price, UINT32 / 1000)));
        // zipline applies each ratio that it reads: only the first row of a day has one.
        const isFirstOfDay = at === first[s] || days[at] !== days[at - 1];
        const split = (isFirstOfDay && own?.get(days[at] as number)) || 1;
        return `${texts(at)},${limited.join(",")},${Math.min(shares, UINT32)},0,${numberText(split)}\n`;
      };
    },
  };
}

/** The factor of each ex-date, by symbol and days since 1970-01-01. */
async function readSplits(session: WriterPlace["session"]): Promise<Map<string, Map<number, number>>> {
  const rows = await session.json<{ symbol: string; day: number; factor: number }>(
    "SELECT symbol, CAST(ex_date - DATE '1970-01-01' AS INTEGER) AS day, factor FROM ex_events ORDER BY symbol, ex_date",
  );
  const splits = new Map<string, Map<number, number>>();
  for (const { symbol, day, factor } of rows) {
    const own = splits.get(symbol) ?? new Map<number, number>();
    splits.set(symbol, own.set(day, factor));
  }
  return splits;
}

function fieldIndex({ shape, spec }: WriterPlace, name: string): number {
  const index = shape.fields.findIndex((field) => field.name === name);
  if (index >= 0) return index;
  throw new UsageError(`dataset ${spec.name}: ${spec.format} needs the field ${name}`, {
    hint: "leave fields out for those that it needs",
  });
}

function numberText(value: number): string {
  return Number.isNaN(value) ? "" : String(value);
}

function numberOr0(value: number | undefined): number {
  return value === undefined || Number.isNaN(value) ? 0 : value;
}

/** A volume as a whole number; 0 where nothing traded. */
function volumeOf(value: number | undefined): number {
  return Math.round(numberOr0(value));
}
