import { codeOf, exchangeOf, regionOf } from "../../market/symbol.js";

/** Names that Windows reserves for devices: qlib puts a prefix before them. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)$/;

/** Codes that pandas, with which qlib reads its lists, treats as a missing value. */
const MISSING = /^(na|nan|null|none)$/i;

/** A symbol in qlib's notation: `SH600519`, `HK00700`, `AAPL` for US stocks; `NA.US` where pandas cannot read `NA`. */
export function qlibInstrument(symbol: string): string {
  if (regionOf(symbol) !== "US") return `${exchangeOf(symbol)}${codeOf(symbol)}`;
  return MISSING.test(codeOf(symbol)) ? symbol : codeOf(symbol);
}

/** The folder from which qlib reads an instrument's files. */
export function qlibFolder(symbol: string): string {
  const name = qlibInstrument(symbol).toLowerCase();
  return DEVICES.test(name) ? `_qlib_${name}` : name;
}
