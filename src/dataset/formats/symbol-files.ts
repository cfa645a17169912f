import { lowerBound } from "../../core/lower-bound.js";
import { partOf } from "../panel/block.js";
import { blockScans } from "../panel/block-scan.js";
import { copyRows, parquetSessions } from "../store/copy-rows.js";
import type { NewFile } from "../store/dataset-files.js";
import { type CsvProfile, fieldIndex, labelTexts, numberText, PRICES, volumeOf } from "./csv-profile.js";
import { type DatasetWriter, sideBySide, type WriterPlace } from "./dataset-writer.js";
import { ziplineProfile } from "./zipline.js";

/** The profile of a spec's format. @throws {UsageError} for a field that the format needs and the spec lacks. */
function csvProfile(place: WriterPlace): CsvProfile {
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

/** Files that are written by the thread while the texts of the next ones are made. */
const FILES_AT_A_TIME = 8;

/** Files of Parquet that are written concurrently. */
const CONCURRENCY = 2;

/**
 * One CSV file per symbol, with a row for every label from its first bar to its last. Numbers are the shortest texts
 * that read back to the same doubles.
 */
export function csvWriter(place: WriterPlace): DatasetWriter {
  const profile = csvProfile(place);
  return {
    async write(block) {
      let files: NewFile[] = [];
      for (const [s, { symbol }] of block.symbols.entries()) {
        const [first, last] = [block.first[s] as number, block.last[s] as number];
        if (first < 0) continue;
        const cell = await profile.open(block, s);
        let text = profile.header;
        for (let label = first; label <= last; label++) text += cell(label);
        files.push({ path: `${profile.folder}${profile.nameOf(symbol)}.csv`, content: text });
        if (files.length < FILES_AT_A_TIME) continue;
        await place.files.putAll(files);
        files = [];
      }
      await place.files.putAll(files);
    },
    async finish() {
      profile.finish?.();
    },
  };
}

/** Writes one Parquet file per symbol, `<symbol>.parquet`, with the columns of the long format. */
export function symbolParquetWriter(place: WriterPlace): DatasetWriter {
  const { files, shape } = place;
  const sessions = parquetSessions(place);
  const all = { start: 0, width: shape.labels.count };
  const scanOf = blockScans(shape);
  return {
    async write(block) {
      await sideBySide(block.symbols.keys(), CONCURRENCY, async (s) => {
        const rows = scanOf(partOf(block, s, 1), all);
        if (rows === undefined) return;
        const path = `${block.symbols[s]?.symbol}.parquet`;
        const target = await files.place(path);
        await sessions.use((session) => copyRows(session, rows, target));
        await files.adopt(path);
      });
    },
    async finish() {},
    async close() {
      sessions.close();
    },
  };
}
