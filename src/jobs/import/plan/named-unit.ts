/** A unit that the name of a column, or a line before the header, says. */
export interface NamedUnit {
  readonly text: string;
  /** What is counted; undefined where only a power of ten is said, such as `millions`. */
  readonly of: "shares" | "lots" | "money" | undefined;
  /** Power of ten of one unit. */
  readonly exponent: number;
}

/** Powers of ten. A longer word comes before those that it begins with. */
const POWERS: readonly (readonly [form: string, exponent: number])[] = [
  ["['’‘´`]?000['’,]000s?", 6],
  ["['’‘´`]?000s?", 3],
  ["thousands?", 3],
  ["millions?|mns?|mlns?|mio|mm|百万|百萬", 6],
  ["billions?|bns?|blns?|十亿|十億", 9],
  ["trillions?|trn|万亿|萬億", 12],
  ["千万|千萬", 7],
  ["十万|十萬", 5],
  ["千|仟", 3],
  ["亿|億", 8],
  ["万|萬", 4],
];
/** Letters that are powers beside a currency, as in `US$m`, and alone in brackets. */
const LETTERS: Readonly<Record<string, number>> = { k: 3, m: 6, b: 9 };
const POWER = POWERS.map(([form]) => form).join("|");
const CURRENCY =
  "us\\$|hk\\$|nt\\$|a\\$|c\\$|s\\$|[$¥€£₩]|rmb|cny|cnh|usd|hkd|eur|gbp|jpy|twd|sgd|krw|inr|人民币元?|港元|港币|美元|欧元|日元|元人民币|元|圆|(?:us |u\\.s\\. |hong kong )?dollars?|yuan|renminbi";
const FORM = new RegExp(
  `^(?:货币)?(?:单位:?\\s*|units?:\\s*)?(?:in\\s+)?(?:(?<before>${CURRENCY}|shares)[\\s,:]*(?:in\\s+)?)?(?:(?<power>${POWER})|(?<letter>[kmb]))?\\s*(?:of\\s+)?(?:(?<shares>股|shares|shs)|(?<lots>手|lots)|(?<money>${CURRENCY})(?:\\/股|\\/share| per share)?)?$`,
  "i",
);
/** What follows a unit that is not of all numbers: `in millions, except per share data`. */
const EXCEPTION = /[,;]?\s*(?:except|other than|unless)\b.*$/i;
/** Words before a unit that are no part of it. */
const BEFORE_UNIT = /^(?:(?:货币)?单位:?|units?:|in\b)\s*/i;

/** The unit that a text is as a whole. */
function unitOf(given: string): NamedUnit | undefined {
  const text = given.replace(EXCEPTION, "").trim();
  const groups = text === "" ? undefined : FORM.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { before, power, letter, shares, lots, money } = groups;
  const isBefore = before?.toLowerCase() === "shares";
  const isMoney = money !== undefined || (before !== undefined && !isBefore);
  const isShares = shares !== undefined || isBefore;
  if (isMoney && (isShares || lots !== undefined)) return undefined;
  if (letter !== undefined && !isMoney) return undefined;
  if ([before, power, letter, shares, lots, money].every((one) => one === undefined)) return undefined;
  const known = POWERS.find(([form]) => power !== undefined && new RegExp(`^(?:${form})$`, "i").test(power));
  return {
    text: text.replace(BEFORE_UNIT, ""),
    of: isMoney ? "money" : isShares ? "shares" : lots === undefined ? undefined : "lots",
    exponent: known?.[1] ?? LETTERS[letter?.toLowerCase() ?? ""] ?? 0,
  };
}

const IN_BRACKETS = /^(.*\S)\s*[([{]\s*([^()[\]{}]+?)\s*[)\]}]$/;
/** Ends of names that may be a unit without brackets: one that says a power of ten. */
const MAY_END =
  /(?:[股手元万萬亿億千]|thousands?|millions?|billions?|mns?|mlns?|mio|mm|bns?|blns?|['’‘´`]000s?|000s|[$¥€£]\s?[kmb]|(?:rmb|cny|usd|hkd|eur|gbp)[\s_]?[kmb]|dollars?)$/i;

/** A name in NFKC without the unit that it ends with, and the unit: `总股本(万股)`, `revenue US$ mn`, `sales RMB'000`. */
export function splitUnit(name: string): { readonly name: string; readonly unit?: NamedUnit } {
  const [, before, inner] = IN_BRACKETS.exec(name) ?? [];
  if (before !== undefined) {
    const letter = /^[kmb]$/i.test(inner as string) ? LETTERS[(inner as string).toLowerCase()] : undefined;
    const unit: NamedUnit | undefined =
      letter === undefined
        ? unitOf(inner as string)
        : { text: inner as string, of: undefined, exponent: letter };
    return unit === undefined ? { name } : { name: before, unit };
  }
  if (!MAY_END.test(name)) return { name };
  for (const { index, 0: mark } of name.matchAll(/[\s_,/:-]+/g)) {
    const start = name.slice(0, index);
    if (start.trim() === "" || /(?:^|[\s_])per$/i.test(start)) continue;
    const rest = name.slice(index + mark.length).replaceAll("_", " ");
    // "Float shares '000" are shares that float.
    const unit = /^shares\b/i.test(rest) ? undefined : unitOf(rest);
    if (unit !== undefined && unit.exponent > 0) return { name: start.replace(/[\s_,]+in$/i, ""), unit };
  }
  return { name };
}

export function unitOfName(name: string): NamedUnit | undefined {
  const plain = name.normalize("NFKC").trim();
  // The name says the unit alone.
  return plain === "总手" ? { of: "lots", exponent: 0, text: "手" } : splitUnit(plain).unit;
}

const SAID = /单位\s*:?\s*([^\s,;()]+)/g;
const BRACKETS = /[([]\s*([^()[\]]+?)\s*[)\]]/g;
/** Units within a sentence; a number before them makes an amount of them. */
const WITHIN = new RegExp(
  `(?<![\\d.]\\s?)(?:(?:${CURRENCY})\\s*)?(?:\\b(?:thousands?|millions?|billions?|trillions?|mn|mln|bn|bln)\\b|(?<=\\$\\s?|rmb\\s?|cny\\s?|usd\\s?|hkd\\s?)['’‘´\`]000s?|(?:${POWER})(?=元|港元|港币|美元|人民币|股)(?:元|港元|港币|美元|人民币|股))(?:\\s+of\\s+(?:${CURRENCY}|shares))?`,
  "gi",
);

/** The units that a line before the header says, the clearest first. */
export function unitsOfLine(line: string): NamedUnit[] {
  const text = line.normalize("NFKC").trim();
  const whole = unitOf(text.replace(/^[\s,;|"]+|[\s,;|"]+$/g, ""));
  if (whole !== undefined) return [whole];
  const clear = [...text.matchAll(SAID), ...text.matchAll(BRACKETS)].flatMap(([, inner = ""]) => {
    const unit = unitOf(inner.trim());
    return unit === undefined ? [] : [unit];
  });
  if (clear.length > 0) return clear;
  return [...text.matchAll(WITHIN)].flatMap(([found]) => unitOf(found) ?? []).slice(0, 1);
}
