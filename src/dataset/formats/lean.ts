import { UsageError } from "../../core/errors.js";
import { dateOfEpochDay, type TradingDate } from "../../core/time.js";
import { codeOf } from "../../market/symbol.js";
import type { Block, FieldCells } from "../panel/block.js";
import type { NewFile } from "../store/files/file-thread.js";
import { fieldIndex, PRICES, volumeOf } from "./csv-profile.js";
import type { DatasetWriter, WriterPlace } from "./dataset-writer.js";
import { type EventsOf, eventsText, labelOn, readEngineEvents } from "./engine-events.js";
import { refuseEqualNames } from "./equal-names.js";
import { type Ending, type Listing, listingFiles } from "./lean-listings.js";
import { zipOf } from "./zip-file.js";

/** Folder of the equities of the United States in LEAN's data folder. */
const FOLDER = "equity/usa";

/** Files that are written by the thread together. */
const FILES_AT_A_TIME = 256;

/**
 * Writes a data folder of LEAN (QuantConnect/Lean, Data/equity/readme.md) with daily bars of US symbols:
 * `equity/usa/daily/aapl.zip`, prices in ten-thousandths of a dollar, a line for each day with trades; and
 * `factor_files/aapl.csv` and `map_files/aapl.csv`: see {@link listingFiles}. Adjusted prices have no factors.
 *
 * @throws {UsageError} for symbols of other regions, and names that are equal in lower case, in which LEAN reads them.
 */
export function leanWriter(place: WriterPlace): DatasetWriter {
  const { spec, shape, files, warn } = place;
  const other = shape.symbols.find(({ region }) => region !== "US");
  if (other !== undefined || (spec.calendar ?? "US") !== "US")
    throw new UsageError(
      `dataset ${spec.name}: ${other === undefined ? `the sessions of ${spec.calendar} are` : `${other.symbol} is`} not of the United States, whose equities LEAN's data folder has`,
      { hint: "choose another format, or the symbols of US" },
    );
  refuseEqualNames(
    `dataset ${spec.name}: universe`,
    shape.symbols.map(({ symbol }) => symbol),
    tickerOf,
    "LEAN, which reads names in lower case",
  );
  const [ohlc, volume] = [PRICES.map((name) => fieldIndex(place, name)), fieldIndex(place, "volume")];
  const close = ohlc[3] as number;
  const texts = Array.from(shape.labels.days, (day) => compact(dateOfEpochDay(day)));
  let reading: Promise<EventsOf | undefined> | undefined;
  const listings = new Map<string, Listing>();
  const unaccounted: { readonly symbol: string; readonly date: TradingDate }[] = [];

  const lines = ({ fields, traded, width, first, last }: Block, s: number): string => {
    let text = "";
    for (let at = first[s] as number; at <= (last[s] as number); at++) {
      const cell = s * width + at;
      if (traded[cell] === 0) continue;
      const prices = ohlc.map((f) => tenThousandths((fields[f] as FieldCells)[cell] as number));
      text += `${texts[at]} 00:00,${prices.join(",")},${volumeOf(fields[volume]?.[cell])}\n`;
    }
    return text;
  };
  return {
    async write(block) {
      reading ??= spec.adjustment === "none" ? readEngineEvents(place) : Promise.resolve(undefined);
      const eventsOf = await reading;
      for (const [s, { symbol }] of block.symbols.entries()) {
        const [first, last] = [block.first[s] as number, block.last[s] as number];
        if (first < 0) continue;
        const ticker = tickerOf(symbol);
        files.put(`${FOLDER}/daily/${ticker}.zip`, zipOf(`${ticker}.csv`, lines(block, s)));
        const cells = block.fields[close] as FieldCells;
        const row = s * block.width;
        const events = (eventsOf?.(block, s) ?? []).map(({ label, factor, actions }) => {
          if (actions === undefined)
            unaccounted.push({ symbol, date: dateOfEpochDay(shape.labels.days[label] as number) });
          let before = label - 1;
          while (block.traded[row + before] === 0) before--;
          // The product is the lake's factor, but for a split alone, whose ratio the actions state.
          const split = 1 / (actions?.shares ?? factor);
          const price = actions === undefined || actions.cash === 0 ? 1 : 1 / (factor * split);
          return { label, split, price, reference: cells[row + before] as number };
        });
        listings.set(symbol, { first, last, events });
      }
    },
    async finish() {
      let batch: NewFile[] = [];
      for (const { name, factors, map } of listingFiles(listings, await readEndings(place), texts)) {
        const ticker = tickerOf(name);
        batch.push({ path: `${FOLDER}/factor_files/${ticker}.csv`, content: factors });
        batch.push({ path: `${FOLDER}/map_files/${ticker}.csv`, content: map });
        if (batch.length < FILES_AT_A_TIME) continue;
        await files.putAll(batch);
        batch = [];
      }
      await files.putAll(batch);
      if (spec.adjustment !== "none")
        warn(
          'prices are adjusted: LEAN\'s factor files have no events, and it pays no dividends; adjustment "none" gives prices as traded, and these',
        );
      if (unaccounted.length > 0)
        warn(
          `${eventsText(unaccounted)} without corporate actions that account for their factor: LEAN's factor files have them as splits, so that returns are right`,
        );
    },
  };
}

/** The ends of symbols until the last day of a dataset. */
async function readEndings({ session, shape: { labels } }: WriterPlace): Promise<Ending[]> {
  const until = dateOfEpochDay(labels.days[labels.count - 1] as number);
  const rows = await session.json<{ readonly symbol: string; readonly date: TradingDate }>(
    `SELECT symbol, CAST(from_date AS VARCHAR) AS date FROM symbol_changes
     WHERE region = 'US' AND kind IN ('delisting', 'merger') AND from_date <= DATE '${until}' ORDER BY from_date, symbol, source`,
  );
  return rows.map(({ symbol, date }) => ({ symbol, label: labelOn(labels, date) }));
}

/** A symbol in LEAN's files. */
function tickerOf(symbol: string): string {
  return codeOf(symbol).toLowerCase();
}

/** A date as LEAN writes it, such as 20261120. */
function compact(date: TradingDate): string {
  return date.replaceAll("-", "");
}

/** A price in ten-thousandths, with up to four decimals. */
function tenThousandths(price: number): number {
  return Math.round(price * 1e8) / 1e4;
}
