import { codeOf } from "../../market/symbol.js";

/** The bars of a symbol in a dataset, whose labels are sessions. */
export interface Listing {
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

/** The end of a symbol: a delisting or a merger. */
export interface Ending {
  readonly symbol: string;
  /** First session on which the symbol is no longer of the instrument. */
  readonly label: number;
}

/** The files of an instrument. */
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
export function* listingFiles(
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
