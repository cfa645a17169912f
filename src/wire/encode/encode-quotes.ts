import type { Quote } from "../resources.js";
import { ByteWriter, doubleText } from "./byte-writer.js";

/** The prices and the amount of a quote, in the order of the text: most have few digits. */
const PRICES = ["last_price", "open", "high", "low", "prev_close", "amount"] as const;
const RATIOS = ["change_amount", "change_pct", "amplitude", "turnover_rate"] as const;

const HEADS = headsOf(["symbol", "region", "session", ...PRICES, "volume", "timestamp", "ext"]);
const EXT_HEADS = headsOf(["type", "name", ...RATIOS]);
const NULL = Buffer.from("null");
const [OPEN, CLOSE, COMMA] = [0x7b, 0x7d, 0x2c];

/** Bytes that are reserved for each quote. */
const QUOTE_BYTES = 512;

/**
 * The JSON text of each quote. Undefined members are left out, numbers that are not finite are null, and all numbers
 * but the volume and the timestamp are written as by {@link doubleText}. The texts are written to one piece of memory,
 * and their prices with one call, which leaves less to the garbage collector.
 */
export function encodeQuotes(quotes: readonly Quote[]): string[] {
  const prices = new PriceTexts(quotes);
  const out = new ByteWriter(quotes.length * QUOTE_BYTES);
  const ends = quotes.map((quote) => {
    writeQuote(out, quote, prices);
    return out.length;
  });
  const { buffer, byteOffset, length } = out.view();
  const bytes = Buffer.from(buffer, byteOffset, length);
  return ends.map((end, index) => bytes.toString("utf8", ends[index - 1] ?? 0, end));
}

function writeQuote(out: ByteWriter, quote: Quote, prices: PriceTexts): void {
  const { ext } = quote;
  out.byte(OPEN);
  writeText(out, HEADS.symbol, quote.symbol);
  writeText(out, HEADS.region, quote.region);
  writeText(out, HEADS.session, quote.session);
  for (const name of PRICES) {
    if (name === "amount") writeInteger(out, HEADS.volume, quote.volume);
    out.bytes(HEADS[name]);
    if (Number.isFinite(quote[name])) prices.writeNext(out);
    else out.bytes(NULL);
    out.byte(COMMA);
  }
  writeInteger(out, HEADS.timestamp, quote.timestamp);
  out.bytes(HEADS.ext);
  out.byte(OPEN);
  writeText(out, EXT_HEADS.type, ext.type);
  if (ext.name !== undefined) writeText(out, EXT_HEADS.name, ext.name);
  for (const name of RATIOS) {
    const ratio = ext[name];
    if (ratio === undefined) continue;
    out.bytes(EXT_HEADS[name]);
    out.ascii(Number.isFinite(ratio) ? doubleText(ratio) : "null");
    out.byte(COMMA);
  }
  out.dropByte();
  out.byte(CLOSE);
  out.byte(CLOSE);
}

/** The texts of all finite prices of quotes, in their order. */
class PriceTexts {
  readonly #texts: Uint8Array;
  #at = 0;

  constructor(quotes: readonly Quote[]) {
    const values = new Float64Array(quotes.length * PRICES.length);
    let count = 0;
    for (const quote of quotes)
      for (const name of PRICES) if (Number.isFinite(quote[name])) values[count++] = quote[name];
    const texts = new ByteWriter(count * 12);
    texts.doubles(values.subarray(0, count));
    this.#texts = texts.view();
  }

  writeNext(out: ByteWriter): void {
    const end = this.#texts.indexOf(COMMA, this.#at);
    out.bytes(this.#texts.subarray(this.#at, end));
    this.#at = end + 1;
  }
}

function writeText(out: ByteWriter, head: Uint8Array, text: string): void {
  out.bytes(head);
  out.jsonString(text);
  out.byte(COMMA);
}

function writeInteger(out: ByteWriter, head: Uint8Array, value: number): void {
  out.bytes(head);
  out.ascii(Number.isFinite(value) ? String(value) : "null");
  out.byte(COMMA);
}

function headsOf<Name extends string>(names: readonly Name[]): Readonly<Record<Name, Uint8Array>> {
  const heads = names.map((name) => [name, Buffer.from(`"${name}":`)] as const);
  return Object.fromEntries(heads) as unknown as Record<Name, Uint8Array>;
}
