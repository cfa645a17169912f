import { EXCHANGE_REGION } from "./regions.js";
import { isSymbol } from "./symbol.js";

/** A text that was read as a symbol, or the reason why it was not. */
type ReadSymbol = { readonly symbol: string } | { readonly reason: string };

/**
 * Names of exchanges in other notations: MIC codes, those of Yahoo, JoinQuant, RiceQuant, vn.py and Reuters. Reuters'
 * `.A` and `.K` are not here, because they may be classes of shares.
 */
const EXCHANGE_ALIASES: Readonly<Record<string, string>> = {
  SS: "SH",
  SSE: "SH",
  XSHG: "SH",
  SHA: "SH",
  SZSE: "SZ",
  XSHE: "SZ",
  SHE: "SZ",
  BSE: "BJ",
  BJSE: "BJ",
  XBSE: "BJ",
  SHFE: "SHF",
  XSGE: "SHF",
  XDCE: "DCE",
  CZCE: "ZCE",
  XZCE: "ZCE",
  CFFEX: "CFX",
  CCFX: "CFX",
  XINE: "INE",
  GFEX: "GFE",
  HKEX: "HK",
  SEHK: "HK",
  XHKG: "HK",
  O: "US",
  OQ: "US",
  N: "US",
  NASDAQ: "US",
  NYSE: "US",
  XNAS: "US",
  XNYS: "US",
};

/**
 * What the code of an exchange looks like, and what one that has lost its leading zeros in a spreadsheet: 1.SH is the
 * index 000001, 19547.SH the bond 019547, 2.SZ the share 000002.
 */
const CODES: Readonly<
  Record<string, { readonly form: RegExp; readonly digits?: number; readonly short?: RegExp }>
> = {
  SH: { form: /^(?:\d{6}|\d{8}|[A-Z]\d{5})$/, digits: 6, short: /^(?:[1-9]\d{0,2}|[12]\d{4})$/ },
  SZ: { form: /^(?:\d{6}|\d{8})$/, digits: 6, short: /^[1-9]\d{0,3}$/ },
  BJ: { form: /^\d{6}$/ },
  HK: { form: /^(?:\d{5,6}|[A-Z][A-Z0-9]*)$/, digits: 5, short: /^\d{1,4}$/ },
  US: { form: /^[A-Z][A-Z0-9]*(?:[.^_-][A-Z0-9]+)*$/ },
};
/** Endings that name an exchange, in several notations, and no class of a share. */
const FOREIGN =
  /\.(?:US|HK|SH|SZ|BJ|SS|AS|AX|BK|BO|BR|CBT|CME|CMX|CO|DE|HE|IS|JK|KL|KQ|KS|MI|MX|NQ|NS|NYB|NYM|NZ|OL|SA|SI|ST|SW|TO|TW|TWO|VI)$/;
const FUTURES = /^[A-Za-z]{1,3}\d{0,4}(?:[-_]?[CP]-?\d+)?(?:_[A-Za-z0-9]+)?$/;

/**
 * Exchanges of Chinese codes that belong to one exchange only. 000xxx are stocks of Shenzhen and indexes of Shanghai; most
 * codes that begin with 1 or 2 may be bonds, funds or repos of either.
 */
const CODE_EXCHANGES: readonly (readonly [form: RegExp, exchange: string])[] = [
  [/^(?:60[0135]|68[89]|900|50[1-8]|51[0-8]|52\d|56[0-3]|58[89]|11[0138])\d{3}$/, "SH"],
  [/^(?:00[1-4]|30[0-2]|200|159|16[01]|12[378]|399)\d{3}$/, "SZ"],
  [/^(?:43|83|87|92)\d{4}$/, "BJ"],
  [/^0\d{4}$/, "HK"],
];
const SIX_DIGITS = /^\d{6}$/;

/** A missing value that was joined with an exchange. NAN, NULL and NONE in capitals may be tickers. */
const MISSING = /^(?:nan|null|none|na|nil|NaN|Null|None|<NA>)$/;

/**
 * Reads a symbol in one of the usual notations: `600000.SH`, `sh600000`, `SH.600000`, `600000.XSHG`, `SH#600000`,
 * `0700.HK`, `aapl.us`, `="600000.SH"`. A code without an exchange is of `exchange`, or read only if it belongs to one.
 */
export function readSymbol(text: string, exchange?: string): ReadSymbol {
  const plain = unquoted(text.normalize("NFKC"));
  if (plain === "") return { reason: "the symbol is empty" };
  const shown = `"${text.trim().slice(0, 40)}"`;
  const parts = partsOf(plain, exchange);
  if (parts === undefined) return { reason: withoutExchange(plain, shown) };
  const [given, suffix] = parts;
  if (!Object.hasOwn(EXCHANGE_REGION, suffix))
    return { reason: `symbol ${shown} has an unknown exchange suffix` };
  if (MISSING.test(given)) return { reason: `${shown} is a missing value with an exchange` };
  const code = codeFor(given, suffix);
  const symbol = `${code}.${suffix}`;
  if (code === undefined || !isSymbol(symbol))
    return { reason: `${shown} is not of the form of a symbol of ${suffix}` };
  return { symbol };
}

/** Text as a spreadsheet, a JSON file in a cell or a fixed-width column leaves it. */
function unquoted(text: string): string {
  return text
    .trim()
    .replace(/^=?"+(.*?)"+$/, "$1")
    .replace(/^'/, "")
    .trim();
}

function partsOf(text: string, exchange: string | undefined): [code: string, exchange: string] | undefined {
  const prefixed = /^(SH|SZ|BJ|HK)[.#_]?(\d{1,8})$/i.exec(text) ?? /^(US|HK)\.([A-Za-z0-9.^-]+)$/i.exec(text);
  if (prefixed) return [prefixed[2] as string, (prefixed[1] as string).toUpperCase()];
  const suffixed = /^(.+)\.([A-Za-z]{1,6})$/.exec(text);
  if (suffixed) {
    const [, code = "", raw = ""] = suffixed;
    const suffix = raw.toUpperCase();
    if (Object.hasOwn(EXCHANGE_REGION, suffix)) return [withoutPrefix(code, suffix), suffix];
    const alias = EXCHANGE_ALIASES[suffix];
    if (alias !== undefined && !(exchange === "US" && suffix.length === 1)) return [code, alias];
    if (suffix.length > 1 && exchange === undefined) return [code, suffix];
  }
  const byCode = CODE_EXCHANGES.find(([form]) => form.test(text))?.[1];
  if (byCode !== undefined) return [text, byCode];
  return exchange === undefined ? undefined : [text, exchange];
}

/** `SH600000.SH` names its exchange twice. */
function withoutPrefix(code: string, suffix: string): string {
  const rest = code.slice(suffix.length);
  return code.toUpperCase().startsWith(suffix) && /^\d{5,6}$/.test(rest) ? rest : code;
}

/** The code as the exchange writes it; undefined where it has no code of this form. */
function codeFor(text: string, exchange: string): string | undefined {
  const rule = CODES[exchange];
  if (rule === undefined) return FUTURES.test(text) ? productIn(text, exchange) : undefined;
  const upper = text.toUpperCase();
  // The classes of a share: Yahoo writes BRK-B, others BRK/B.
  const code =
    exchange === "US"
      ? upper.replace(/^([A-Z]+)\/([A-Z])$/, "$1.$2")
      : rule.short?.test(upper)
        ? upper.padStart(rule.digits ?? 0, "0")
        : upper;
  return rule.form.test(code) && !(exchange === "US" && FOREIGN.test(code)) ? code : undefined;
}

/** A code of futures as its exchange writes it: the product in capitals in Zhengzhou and at CFFEX, else in small letters. */
function productIn(text: string, exchange: string): string {
  const areCapitals = exchange === "ZCE" || exchange === "CFX";
  return text.replace(/^[A-Za-z]+/, (product) =>
    areCapitals ? product.toUpperCase() : product.toLowerCase(),
  );
}

function withoutExchange(text: string, shown: string): string {
  if (SIX_DIGITS.test(text))
    return `${shown} may be of several exchanges: \`exchange: "SZ"\` decides, or a suffix such as ${text}.SZ`;
  if (/^\d{1,5}$/.test(text))
    return `${shown} names no exchange, and may have lost its zeros: \`exchange: "SZ"\` completes it to ${text.padStart(6, "0")}.SZ, \`exchange: "HK"\` to ${text.padStart(5, "0")}.HK`;
  return `${shown} names no exchange: \`exchange: "US"\` completes it, or a suffix such as ${text.slice(0, 20)}.US`;
}
