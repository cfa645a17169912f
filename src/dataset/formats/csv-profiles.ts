import { lowerBound } from "../../core/lower-bound.js";
import { labelTexts } from "../cells/label-texts.js";
import { type CsvProfile, fieldIndex, numberText, PRICES, volumeOf } from "./csv-profile.js";
import type { WriterPlace } from "./dataset-writer.js";
import { ziplineProfile } from "./zipline.js";

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
 * then the other fields, and `adjclose`, as its Yahoo feed has it: the close itself where prices are adjusted, else the
 * close of the adjustment `backward`. A missing price is empty, which backtrader reads as NaN.
 */
function backtraderProfile(place: WriterPlace): CsvProfile {
  const { shape, spec, zone } = place;
  const texts = labelTexts(shape.labels, zone);
  const hasOwn = shape.fields.some(({ name }) => name === "adjclose");
  const isTraded = spec.adjustment === "none" && !hasOwn;
  let reading: Promise<ReadonlyMap<string, readonly Step[]>> | undefined;
  const [ohlc, volume] = [PRICES.map((name) => fieldIndex(place, name)), fieldIndex(place, "volume")];
  const interest = shape.fields.findIndex(({ name }) => name === "open_interest");
  const taken = new Set([...ohlc, volume, interest]);
  const others = shape.fields.flatMap(({ name }, f) => (taken.has(f) ? [] : [{ name, f }]));
  const names = ["datetime", ...PRICES, "volume", "openinterest", ...others.map(({ name }) => name)];
  if (!hasOwn) names.push("adjclose");
  const close = ohlc[3] as number;
  return {
    folder: "",
    header: `${names.join(",")}\n`,
    nameOf: (symbol) => symbol,
    async open({ fields, width, symbols }, s) {
      if (isTraded) reading ??= readSteps(place);
      const steps = (await reading)?.get(symbols[s]?.symbol ?? "") ?? [];
      const text = (f: number, at: number): string => numberText(fields[f]?.[s * width + at] ?? Number.NaN);
      return (at) => {
        const traded = volumeOf(fields[volume]?.[s * width + at]);
        const cells = [...ohlc.map((f) => text(f, at)), traded, interest < 0 ? 0 : text(interest, at)];
        const line = [texts(at), ...cells, ...others.map(({ f }) => text(f, at))];
        if (!hasOwn) {
          const day = shape.labels.days[at] as number;
          const passed = lowerBound(0, steps.length, (n) => (steps[n] as Step).day > day);
          const factor = steps[passed - 1]?.factor ?? 1;
          line.push(
            factor === 1
              ? (cells[3] as string)
              : numberText((fields[close]?.[s * width + at] as number) * factor),
          );
        }
        return `${line.join(",")}\n`;
      };
    },
  };
}

/** The factor of the adjustment `backward` from an ex-date on, which is in days since 1970-01-01. */
interface Step {
  readonly day: number;
  readonly factor: number;
}

/** The steps of each symbol, in order of time, from the beginning of the lake's history. */
async function readSteps({ session }: WriterPlace): Promise<Map<string, Step[]>> {
  const rows = await session.json<Step & { readonly symbol: string }>(
    "SELECT symbol, CAST(ex_date - DATE '1970-01-01' AS INTEGER) AS day, factor FROM ex_events ORDER BY symbol, ex_date",
  );
  const steps = new Map<string, Step[]>();
  for (const { symbol, day, factor } of rows) {
    const own = steps.get(symbol) ?? [];
    own.push({ day, factor: (own.at(-1)?.factor ?? 1) * factor });
    steps.set(symbol, own);
  }
  return steps;
}
