import { crc32 } from "node:zlib";
import { UsageError } from "../../core/errors.js";
import { dateOfEpochDay, type TradingDate } from "../../core/time.js";
import { codeOf } from "../../market/symbol.js";
import type { Block, FieldCells } from "../panel/block.js";
import type { NewFile } from "../store/dataset-files.js";
import { fieldIndex, PRICES, volumeOf } from "./csv-profile.js";
import { type DatasetWriter, refuseEqualNames, type WriterPlace } from "./dataset-writer.js";
import { type EventsOf, eventsText, labelOn, readEngineEvents } from "./engine-events.js";

/** The first of January 1980 in DOS's notation, so that the same content gives the same bytes. */
const DATE = 0x21;

/**
 * A zip archive of one file with an ASCII name, stored as it is: what a compressor makes of it differs between
 * machines. At most 4 GiB.
 */
function zipOf(name: string, text: string): Uint8Array {
  const [path, content] = [Buffer.from(name, "latin1"), Buffer.from(text)];
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(10, 0);
  facts.writeUInt16LE(DATE, 8);
  facts.writeUInt32LE(crc32(content), 10);
  facts.writeUInt32LE(content.length, 14);
  facts.writeUInt32LE(content.length, 18);
  facts.writeUInt16LE(path.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), facts, path, content]);
  // The program that wrote it, the facts again, then 14 bytes of comment, disk, attributes and position: all 0.
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x0a\x00", "latin1"), facts, Buffer.alloc(14), path]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

/** The bars of a symbol in a dataset, whose labels are sessions. */
interface Listing {
  readonly first: number;
  readonly last: number;
  readonly events: readonly LeanEvent[];
}

/** An ex-date. Prices before it are multiplied by both ratios. */
interface LeanEvent {
  readonly label: number;
  /** Old shares for a new one. */
  readonly split: number;
  /** What a share is worth without its dividend. */
  readonly price: number;
  /** Close of the bar before, as traded. */
  readonly reference: number;
}

interface Ending {
  readonly symbol: string;
  /** First session on which the symbol is no longer of the instrument. */
  readonly label: number;
}

interface ListingFiles {
  readonly name: string;
  readonly factors: string;
  readonly map: string;
}

/** LEAN's date of the last row of what still trades. */
const STILL = "20501231";

/**
 * Factor files and map files, as LEAN reads them (CorporateFactorRow, MapFileRow): rows hold up to and including their
 * date, the last session before an ex-date, without a header. A factor file has the products of the price and split ratios
 * of all events after the date, and the close of that session; its first row is the first session, its last row has the
 * factors 1. A map file has the ticker for all times, as a renamed instrument has all its bars under its last name, and ends
 * with the last session of what was delisted or merged.
 *
 * @param days the date of each label, such as 20261120.
 */
function* listingFiles(
  listings: ReadonlyMap<string, Listing>,
  endings: readonly Ending[],
  days: readonly string[],
): Generator<ListingFiles, void, undefined> {
  for (const [symbol, listing] of listings) {
    const ended = endings.findLast((one) => one.symbol === symbol && one.label > listing.last)?.label;
    const ticker = codeOf(symbol).toLowerCase();
    const end = ended === undefined ? STILL : days[ended - 1];
    yield {
      name: symbol,
      factors: factorText(listing, days),
      map: [...new Set([days[listing.first], end])].map((day) => `${day},${ticker}\n`).join(""),
    };
  }
}

function factorText({ first, events: all }: Listing, days: readonly string[]): string {
  const events = all.filter(({ label }) => label > first);
  const rows = [`${STILL},1,1,0\n`];
  let [price, split] = [1, 1];
  for (const event of events.toReversed()) {
    price *= event.price;
    split *= event.split;
    const factors = `${decimal(price)},${decimal(split)}`;
    rows.push(`${days[event.label - 1]},${factors},${decimal(event.reference)}\n`);
  }
  if (events[0]?.label !== first + 1) rows.push(`${days[first]},${decimal(price)},${decimal(split)},0\n`);
  return rows.toReversed().join("");
}

/** A number with 15 digits and without an exponent, which LEAN takes for a factor that it must leave out. */
function decimal(value: number): string {
  const text = value.toPrecision(15);
  return (text.includes("e") ? value.toFixed(20) : text).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** Folder of the equities of the United States in LEAN's data folder. */
const FOLDER = "equity/usa";

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

function tickerOf(symbol: string): string {
  return codeOf(symbol).toLowerCase();
}

function compact(date: TradingDate): string {
  return date.replaceAll("-", "");
}

/** A price in ten-thousandths, with up to four decimals. */
function tenThousandths(price: number): number {
  return Math.round(price * 1e8) / 1e4;
}
