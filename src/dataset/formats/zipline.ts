import { dateOfEpochDay, type TradingDate } from "../../core/time.js";
import {
  type CsvProfile,
  fieldIndex,
  labelTexts,
  numberOr0,
  numberText,
  PRICES,
  volumeOf,
} from "./csv-profile.js";
import { refuseEqualNames, type WriterPlace } from "./dataset-writer.js";
import { type EngineEvent, type EventsOf, eventsText, labelOn, readEngineEvents } from "./engine-events.js";

/** Largest number in zipline's files: unsigned 32 bits; prices are in thousandths. */
const UINT32 = 0xffffffff;

/** An event of a symbol, and the date on which zipline is told of it. */
interface Adjustment {
  readonly symbol: string;
  readonly date: TradingDate;
  readonly event: EngineEvent;
  /** Whether the session before had trades: zipline adjusts history for a dividend by its close. */
  readonly hasCloseBefore: boolean;
}

/**
 * The layout of zipline's `csvdir` bundle: `daily/600519_SH.csv` (zipline cuts names at a dot), or `minute/` in UTC,
 * with `date, open, high, low, close, volume, dividend, split` on every session from the first to the last. zipline
 * stores days without trades as 0, and volumes as 32-bit integers. Unadjusted prices come with `split`: the ratio by
 * which prices before an ex-date are divided, dividends included, as `csvdir` gives a dividend no day of payment, and
 * zipline then never pays it. Next to these are the tables of zipline's `SQLiteAdjustmentWriter`, which know dividends:
 * `adjustments/splits.csv` and `adjustments/dividends.csv`. Adjusted prices need none of it.
 */
export function ziplineProfile(place: WriterPlace): CsvProfile {
  const { shape, spec, warn } = place;
  const { days } = shape.labels;
  const nameOf = (symbol: string): string => symbol.replaceAll(".", "_");
  const all = shape.symbols.map(({ symbol }) => symbol);
  refuseEqualNames(`dataset ${spec.name}: universe`, all, nameOf, "zipline, whose names have no dot");
  const texts = labelTexts(shape.labels, "UTC");
  const [ohlc, volume] = [PRICES.map((name) => fieldIndex(place, name)), fieldIndex(place, "volume")];
  const isTraded = spec.adjustment === "none";
  let reading: Promise<EventsOf> | undefined;
  let hasWarned = false;
  const names: string[] = [];
  const adjustments: Adjustment[] = [];
  return {
    folder: spec.period === "1m" ? "minute/" : "daily/",
    header: "date,open,high,low,close,volume,dividend,split\n",
    nameOf,
    async open(block, s) {
      const { fields, width, symbols, traded } = block;
      const { symbol = "" } = symbols[s] ?? {};
      names.push(nameOf(symbol));
      if (isTraded) reading ??= readEngineEvents(place);
      const events = (await reading)?.(block, s) ?? [];
      for (const event of events) {
        const date = dateOfEpochDay(days[event.label] as number);
        const end = labelOn(shape.labels, date);
        const start = labelOn(shape.labels, dateOfEpochDay(days[end - 1] as number));
        const hasCloseBefore = traded.subarray(s * width + start, s * width + end).includes(1);
        adjustments.push({ symbol, date, event, hasCloseBefore });
      }
      const splits = new Map(events.map(({ label, factor }) => [label, factor]));
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
        return `${texts(at)},${limited.join(",")},${Math.min(shares, UINT32)},0,${numberText(splits.get(at) ?? 1)}\n`;
      };
    },
    finish() {
      if (isTraded) putAdjustments(place, nameOf, names, adjustments);
    },
  };
}

/**
 * Writes the frames of zipline's `SQLiteAdjustmentWriter.write`, with a symbol's name in addition. A symbol's `sid` is its
 * place among the sorted names, as `csvdir` numbers them. A dividend is paid at the first session on or after its day of
 * payment, as zipline pays at sessions alone; on the ex-date where that day is not known. An event without corporate
 * actions is a split of its factor, so that returns are right.
 */
function putAdjustments(
  { files, shape, warn }: WriterPlace,
  nameOf: (symbol: string) => string,
  names: readonly string[],
  adjustments: readonly Adjustment[],
): void {
  const sids = new Map([...names].sort().map((name, sid) => [name, sid]));
  const splits: string[] = [];
  const dividends: string[] = [];
  const unaccounted: Adjustment[] = [];
  const halted: Adjustment[] = [];
  const unpaid: Adjustment[] = [];
  for (const adjustment of adjustments) {
    const { symbol, date, event, hasCloseBefore } = adjustment;
    const name = nameOf(symbol);
    const key = `${sids.get(name)},${name}`;
    const { actions, factor } = event;
    const isHalted = actions !== undefined && actions.cash > 0 && !hasCloseBefore;
    if (isHalted) halted.push(adjustment);
    if (actions === undefined) unaccounted.push(adjustment);
    if (actions === undefined || isHalted) {
      splits.push(`${key},${date},${1 / factor}\n`);
      continue;
    }
    if (actions.shares !== 1) splits.push(`${key},${date},${1 / actions.shares}\n`);
    if (actions.cash === 0) continue;
    if (actions.payDate === undefined) unpaid.push(adjustment);
    const pays = sessionFrom(shape, [date, actions.payDate ?? date].toSorted().at(-1) as TradingDate);
    dividends.push(
      `${key},${date},${actions.announceDate ?? ""},${actions.recordDate ?? ""},${pays},${actions.cash}\n`,
    );
  }
  files.put("adjustments/splits.csv", `sid,symbol,effective_date,ratio\n${splits.join("")}`);
  files.put(
    "adjustments/dividends.csv",
    `sid,symbol,ex_date,declared_date,record_date,pay_date,amount\n${dividends.join("")}`,
  );
  if (unaccounted.length > 0)
    warn(
      `${eventsText(unaccounted)} without corporate actions that account for their factor: adjustments/splits.csv has them as splits, so that returns are right, and zipline adjusts volumes by them, too`,
    );
  if (halted.length > 0)
    warn(
      `${eventsText(halted)} with a dividend after a session without trades, by whose close zipline would adjust history: adjustments/splits.csv has them as splits`,
    );
  if (unpaid.length > 0)
    warn(
      `${eventsText(unpaid)} with a dividend whose day of payment is not known: adjustments/dividends.csv pays it on the ex-date`,
    );
}

/** The first session of a dataset on or after a date; the date itself after the last one. */
function sessionFrom({ labels }: WriterPlace["shape"], date: TradingDate): TradingDate {
  const label = labelOn(labels, date);
  return label === labels.count ? date : dateOfEpochDay(labels.days[label] as number);
}
