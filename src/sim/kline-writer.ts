import { int64Words } from "../core/bits.js";
import type { KlineColumns, NumberColumn } from "../wire/kline-columns.js";

/** Columns under construction. `timestamp` and `volume` are written as pairs of 32-bit words. */
export interface KlineWriter {
  readonly columns: KlineColumns;
  readonly timestampWords: Uint32Array;
  readonly volumeWords: Uint32Array;
}

/**
 * Open interest and settlement price are null in all rows; prev_close is, too, or, with `prevClose`, present in all.
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
    timestampWords: int64Words(timestamp),
    volumeWords: int64Words(volume),
  };
}
