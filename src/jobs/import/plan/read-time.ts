import { DAY_MS, MINUTE_MS } from "../../../core/time.js";
import { instantOfDay } from "../../../market/zone.js";

/** What a text says about time. Days count from 1970-01-01; times of day are in milliseconds. */
export type ReadTime =
  | { readonly kind: "date"; readonly day: number }
  | { readonly kind: "wall"; readonly day: number; readonly timeOfDay: number }
  | {
      readonly kind: "instant";
      readonly ms: number;
      readonly isEpoch: boolean;
      /** The day whose midnight it is by its own clock. */
      readonly ownMidnight?: number;
    }
  | { readonly kind: "empty" }
  | { readonly kind: "unclear"; readonly reason: string }
  | { readonly kind: "none" };

/** Which of the two first numbers of `01/02/2024` is the day. */
export type DateOrder = "dmy" | "mdy";

/** Words for a value that is missing, in lower case. */
export const NULL_WORDS: readonly string[] = [
  "",
  "-",
  "--",
  "---",
  "—",
  "nan",
  "nat",
  "none",
  "null",
  "nil",
  "n/a",
  "na",
  "#n/a",
  "#n/a n/a",
  "#na",
  "<na>",
  "\\n",
  "0000-00-00",
  "0000-00-00 00:00:00",
  "无",
  "暂无",
];
const NULLS = new Set(NULL_WORDS);

export function isNullWord(text: string): boolean {
  return NULLS.has(text.trim().toLowerCase());
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH_NAME = "(?:(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\\.?)";

/** Year first: in any notation this has one reading. */
const YEAR_FIRST = /^(\d{4})(?:([-/.])(\d{1,2})\2(\d{1,2})|年(\d{1,2})月(\d{1,2})日)(?:[ T]\s*(.+))?$/;
/** Year last, all numbers. */
const YEAR_LAST = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:,?[ T]\s*(.+))?$/;
const DAY_MONTH_NAME = new RegExp(`^(\\d{1,2})[- ]${MONTH_NAME}[-, ]+(\\d{4})(?:[ T]\\s*(.+))?$`, "i");
const MONTH_NAME_DAY = new RegExp(`^${MONTH_NAME}[- ](\\d{1,2}),?[- ]+(\\d{4})(?:[ T]\\s*(.+))?$`, "i");
const WEEKDAY = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+/i;
const SHORT_YEAR = new RegExp(
  `^(?:\\d{1,2}[-/.]\\d{1,2}[-/.]\\d{2}|\\d{1,2}[- ]${MONTH_NAME}[- ]\\d{2})$`,
  "i",
);
const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(?:(AM|PM)\b)?\s*(.*)$/i;
const OFFSET = /^(?:(Z|UTC|GMT|\+00:?00 UTC)|(?:UTC|GMT)?([+-])(\d{2}):?(\d{2})?)$/i;

/** A date is of these years; 0001 and 9999 stand for missing ones. */
const FIRST_YEAR = 1900;
const LAST_YEAR = 2200;

/** The first epoch seconds, milliseconds, ... that are read as such: 1973 of each unit. Smaller ones have two readings. */
const UNITS: readonly (readonly [digits: RegExp, perMs: number])[] = [
  [/^-?\d{9,10}$/, 0.001],
  [/^-?\d{11,14}$/, 1],
  [/^-?\d{15,17}$/, 1000],
  [/^-?\d{18,19}$/, 1_000_000],
];

/**
 * Reads a date, a date with a time of day, or an instant, completely or not at all.
 *
 * @param order which number is the day in `01/02/2024`, if the file shows it. Without it such a text is unclear unless it
 *   has one reading.
 */
export function readTime(given: string, order?: DateOrder): ReadTime {
  const text = given
    .normalize("NFKC")
    .trim()
    .replace(/^=?"+(.*?)"+$/, "$1")
    .replace(/^'/, "")
    .replace(WEEKDAY, "");
  if (isNullWord(text)) return { kind: "empty" };
  const digits = /^(-?\d+)(?:\.0*)?$/.exec(text)?.[1];
  if (digits !== undefined) return readDigits(digits);
  if (/^\d(?:\.\d+)?e\+?\d{1,2}$/i.test(text) && Number.isFinite(Number(text)))
    return readDigits(String(BigInt(Math.round(Number(text)))));
  if (/^\d{5}\.\d+$/.test(text)) return unclear(text, "may be a day number of a spreadsheet", "excel");
  const float = /^(\d{9,13})\.(\d+)$/.exec(text);
  if (float) return readEpoch(Number(text), float[1] as string);
  const first = YEAR_FIRST.exec(text);
  if (first) {
    const [, y, , m = first[5], d = first[6]] = first;
    return withTime(dayOf(Number(y), Number(m), Number(d)), first[7]);
  }
  const named = DAY_MONTH_NAME.exec(text);
  if (named) return withTime(dayOf(Number(named[3]), monthOf(named[2]), Number(named[1])), named[4]);
  const american = MONTH_NAME_DAY.exec(text);
  if (american)
    return withTime(dayOf(Number(american[3]), monthOf(american[1]), Number(american[2])), american[4]);
  const last = YEAR_LAST.exec(text);
  if (last) return readYearLast(text, last, order);
  const compact = /^(\d{8})[ T](.+)$/.exec(text);
  if (compact) {
    const [, date = "", rest = ""] = compact;
    return withTime(compactDay(date), rest);
  }
  if (SHORT_YEAR.test(text)) {
    const yearFirst = /^(\d{2})([-/.])(\d{2})\2(\d{2})$/.exec(text);
    const isYearFirst =
      yearFirst !== null &&
      dayOf(2000 + Number(yearFirst[1]), Number(yearFirst[3]), Number(yearFirst[4])) !== undefined;
    return unclear(
      text,
      "has a year of two digits",
      isYearFirst ? `YY${yearFirst[2]}MM${yearFirst[2]}DD` : "dmy",
    );
  }
  return { kind: "none" };
}

/** The order of day and month that the texts of a column show; undefined where they show none, or both. */
export function dateOrderOf(texts: Iterable<string>): DateOrder | undefined {
  let [isDmy, isMdy] = [false, false];
  for (const text of texts) {
    const match = YEAR_LAST.exec(text.trim());
    if (!match) continue;
    if (Number(match[1]) > 12) isDmy = true;
    if (Number(match[3]) > 12) isMdy = true;
  }
  if (isDmy === isMdy) return undefined;
  return isDmy ? "dmy" : "mdy";
}

/**
 * A reader of texts in a format that the user named: `excel`, `s`, `ms`, `us`, `ns`, `dmy`, `mdy`, or a pattern of
 * `strptime` (`%d.%m.%Y`), also as `DD.MM.YYYY`.
 *
 * @returns undefined for a format that is not known.
 */
export function timeFormat(format: string): ((text: string) => ReadTime) | undefined {
  if (format === "dmy" || format === "mdy") return (text) => readTime(withWholeYear(text), format);
  if (format === "excel") return readExcelDay;
  const perMs = { s: 0.001, ms: 1, us: 1000, ns: 1_000_000 }[format];
  if (perMs !== undefined) {
    return (text) => {
      const value = Number(text);
      return text.trim() !== "" && Number.isFinite(value)
        ? { kind: "instant", ms: Math.floor(value / perMs), isEpoch: true }
        : { kind: isNullWord(text) ? "empty" : "none" };
    };
  }
  return patternReader(
    format
      .replaceAll("YYYY", "%Y")
      .replaceAll("YY", "%y")
      .replaceAll("MMM", "%b")
      .replaceAll("MM", "%m")
      .replaceAll("DD", "%d")
      .replaceAll("HH", "%H")
      .replaceAll("mm", "%M")
      .replaceAll("ss", "%S"),
  );
}

/** A date with its year in four digits, as `strptime` completes it: 69 to 99 are of the last century. */
function withWholeYear(text: string): string {
  return text
    .trim()
    .replace(
      /^(\d{1,2}([-/. ])(?:\d{1,2}|[A-Za-z]{3,9}\.?)\2)(\d{2})(?=$|,?[ T])/,
      (_, before, _mark, year) => {
        return `${before}${Number(year) >= 69 ? "19" : "20"}${year}`;
      },
    );
}

/** The instant 1899-12-30, from which spreadsheets count days, in days from 1970-01-01. */
const EXCEL_START = -25_569;

function readExcelDay(text: string): ReadTime {
  if (isNullWord(text)) return { kind: "empty" };
  const value = Number(text);
  if (!Number.isFinite(value) || value < 1) return { kind: "none" };
  const day = EXCEL_START + Math.floor(value);
  const ms = Math.round(((value % 1) * DAY_MS) / 1000) * 1000;
  return ms === 0 ? { kind: "date", day } : { kind: "wall", day, timeOfDay: ms };
}

const DIRECTIVES: Readonly<Record<string, string>> = {
  Y: "(?<Y>\\d{4})",
  y: "(?<y>\\d{2})",
  m: "(?<m>\\d{1,2})",
  d: "(?<d>\\d{1,2})",
  b: "(?<b>[A-Za-z]{3,9})",
  B: "(?<b>[A-Za-z]{3,9})",
  H: "(?<H>\\d{1,2})",
  M: "(?<M>\\d{2})",
  S: "(?<S>\\d{2})",
};

function patternReader(pattern: string): ((text: string) => ReadTime) | undefined {
  // A letter that stands for nothing would be one of the texts; of T and Z this is meant.
  let isKnown =
    /%[Yy]/.test(pattern) &&
    /%[mbB]/.test(pattern) &&
    pattern.includes("%d") &&
    !/[A-SU-Ya-z]/.test(pattern.replaceAll(/%./g, "")) &&
    !/(%.).*\1/.test(pattern);
  const source = pattern.replace(/%(.)|[.*+?^${}()|[\]\\]/g, (part, directive?: string) => {
    if (directive === undefined) return `\\${part}`;
    const found = DIRECTIVES[directive];
    if (found === undefined) isKnown = false;
    return found ?? "";
  });
  if (!isKnown) return undefined;
  const form = new RegExp(`^${source}$`);
  return (text) => {
    if (isNullWord(text)) return { kind: "empty" };
    const found = form.exec(text.trim())?.groups;
    if (found === undefined) return { kind: "none" };
    // As strptime: 69 to 99 are of the last century.
    const year = found.Y ?? String((Number(found.y) >= 69 ? 1900 : 2000) + Number(found.y));
    const day = dayOf(Number(year), found.m ? Number(found.m) : monthOf(found.b), Number(found.d));
    const hours = found.H === undefined ? undefined : `${found.H}:${found.M ?? "00"}:${found.S ?? "00"}`;
    return withTime(day, hours);
  };
}

function readDigits(digits: string): ReadTime {
  if (digits.length === 8) {
    const day = compactDay(digits);
    if (day !== undefined) return { kind: "date", day };
    return { kind: "none" };
  }
  // As epoch seconds, ten digits that are a date and an hour of this century are after 2033.
  if (/^(?:19|20|21)\d{8}(?:\d\d){0,2}$/.test(digits)) {
    const wall = withTime(compactDay(digits.slice(0, 8)), colons(digits.slice(8)));
    if (wall.kind !== "none" && (digits.length > 10 || digits >= "1990")) return wall;
    // As milliseconds, twelve of these digits are of 1976, and fourteen of no century.
    if (digits.length === 12) return unclear(digits, "is no date, and may be of 1976", "ms");
    if (digits.length > 12) return { kind: "none" };
  }
  if (digits.length === 17) {
    const wall = withTime(compactDay(digits.slice(0, 8)), colons(digits.slice(8, 14)));
    if (wall.kind === "wall") return { ...wall, timeOfDay: wall.timeOfDay + Number(digits.slice(14)) };
  }
  if (/^\d{5}$/.test(digits)) return unclear(digits, "may be a day number of a spreadsheet", "excel");
  if (/^\d{4}$/.test(digits) || /^\d{6}$/.test(digits)) return { kind: "none" };
  return readEpoch(Number(digits), digits);
}

function readEpoch(value: number, digits: string): ReadTime {
  const unit = UNITS.find(([form]) => form.test(digits));
  return unit === undefined
    ? { kind: "none" }
    : { kind: "instant", ms: Math.floor(value / unit[1]), isEpoch: true };
}

function readYearLast(text: string, match: RegExpExecArray, order: DateOrder | undefined): ReadTime {
  const [, first, , second, year, rest] = match;
  const dmy = dayOf(Number(year), Number(second), Number(first));
  const mdy = dayOf(Number(year), Number(first), Number(second));
  if (order !== undefined) return withTime(order === "dmy" ? dmy : mdy, rest);
  if (dmy !== undefined && mdy !== undefined && dmy !== mdy) return unclear(text, "has two readings");
  return withTime(dmy ?? mdy, rest);
}

function unclear(text: string, why: string, option = "dmy"): ReadTime {
  const others =
    option === "dmy"
      ? ' or `dateFormat: "mdy"`'
      : option.startsWith("YY")
        ? ', `dateFormat: "dmy"` or `dateFormat: "mdy"`'
        : "";
  return { kind: "unclear", reason: `"${text}" ${why}: \`dateFormat: "${option}"\`${others} decides` };
}

function withTime(day: number | undefined, rest: string | undefined): ReadTime {
  if (day === undefined) return { kind: "none" };
  if (rest === undefined || rest.trim() === "") return { kind: "date", day };
  const text = rest.trim();
  // A column of times beside one of dates may repeat the date: 20240102093500000.
  const repeated = /^(\d{8})(\d{6})\d{0,3}$/.exec(text);
  const isSame = repeated !== null && compactDay(repeated[1] as string) === day;
  const digits = isSame ? (repeated[2] as string) : text;
  const clock = CLOCK.exec(/^\d{1,6}$/.test(digits) ? colons(digits) : text);
  if (!clock) return { kind: "none" };
  const ms = timeOfDay(clock);
  if (ms === undefined) return { kind: "none" };
  const tail = (clock[6] ?? "").trim();
  if (tail === "") return { kind: "wall", day, timeOfDay: ms };
  const offset = OFFSET.exec(tail);
  if (!offset && AREA_ZONE.test(tail) && isZone(tail)) {
    const minutes = Math.floor(ms / MINUTE_MS);
    const at = instantOfDay(day, tail, minutes) + (ms % MINUTE_MS);
    return { kind: "instant", ms: at, isEpoch: false, ...(ms === 0 && { ownMidnight: day }) };
  }
  if (!offset && /^[A-Z]{3,4}$/.test(tail))
    return {
      kind: "unclear",
      reason: `zone "${tail}" has several meanings: \`zone: "America/New_York"\` decides, with times that do not have it`,
    };
  if (!offset) return { kind: "none" };
  const minutes = offset[1] ? 0 : Number(offset[3]) * 60 + Number(offset[4] ?? 0);
  const ahead = offset[2] === "-" ? -minutes : minutes;
  const at = day * DAY_MS + ms - ahead * MINUTE_MS;
  return { kind: "instant", ms: at, isEpoch: false, ...(ms === 0 && { ownMidnight: day }) };
}

/** A zone with its area, such as US/Eastern. An abbreviation such as EST has several meanings. */
const AREA_ZONE = /^[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z0-9_+-]+)+$/;

/** Whether a text is the name of a zone. */
export function isZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).format(0) !== "";
  } catch {
    return false;
  }
}

function timeOfDay([, h, m, s = "0", fraction = "0", half]: RegExpExecArray): number | undefined {
  let hour = Number(h);
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return undefined;
    hour = (hour % 12) + (half.toUpperCase() === "PM" ? 12 : 0);
  }
  if (hour > 23 || Number(m) > 59 || Number(s) > 59) return undefined;
  const ms = Math.floor(Number(`0.${fraction}`) * 1000);
  return ((hour * 60 + Number(m)) * 60 + Number(s)) * 1000 + ms;
}

/** `93100` as 09:31:00, `0931` as 09:31, `9` as 09:00. */
function colons(digits: string): string {
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  const parts = even.match(/\d\d/g) ?? [];
  return parts.length === 1 ? `${even}:00` : parts.join(":");
}

function compactDay(digits: string): number | undefined {
  return dayOf(Number(digits.slice(0, 4)), Number(digits.slice(4, 6)), Number(digits.slice(6, 8)));
}

function monthOf(name: string | undefined): number {
  return MONTHS.indexOf((name ?? "").slice(0, 3).toLowerCase()) + 1;
}

/** The day of a date of the calendar; undefined where there is none. */
function dayOf(year: number, month: number, day: number): number | undefined {
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > 31)
    return undefined;
  const ms = Date.UTC(year, month - 1, day);
  return new Date(ms).getUTCDate() === day ? ms / DAY_MS : undefined;
}
