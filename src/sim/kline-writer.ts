import type { KlineColumns, NumberColumn } from "../wire/kline-columns.js";

/** Columns under construction, of a known number of rows; `timestamp` and `volume` as pairs of 32-bit words. */
export interface KlineWriter {
  readonly columns: KlineColumns;
  readonly timestampWords: Int32Array;
  readonly volumeWords: Int32Array;
}

/**
 * Allocates columns of `rows` rows. Open interest and settlement price are null in all rows; prev_close is null in
 * all rows, or, with `prevClose`, present in all.
 */
export function klineWriter(symbols: readonly string[], rows: number, prevClose: boolean): KlineWriter {
  const timestamp = new BigInt64Array(rows);
  const volume = new BigInt64Array(rows);
  const present = (): NumberColumn => ({ values: new Float64Array(rows), validity: undefined });
  const absent = (): NumberColumn => ({
    values: new Float64Array(rows),
    validity: new Uint8Array(Math.ceil(rows / 8)),
  });
  return {
    columns: {
      rows,
      symbols,
      symbolIndex: new Int32Array(rows),
      timestamp,
      volume,
      doubles: {
        open: present(),
        high: present(),
        low: present(),
        close: present(),
        amount: present(),
        open_interest: absent(),
        prev_close: prevClose ? present() : absent(),
        settlement_price: absent(),
      },
    },
    timestampWords: new Int32Array(timestamp.buffer),
    volumeWords: new Int32Array(volume.buffer),
  };
}

/** Writes a safe integer of 0 or more into a 64-bit column, without a BigInt on the way: low word first. */
export function writeInt64(words: Int32Array, row: number, value: number): void {
  const low = value >>> 0;
  words[row * 2] = low;
  words[row * 2 + 1] = (value - low) / 4294967296;
}
