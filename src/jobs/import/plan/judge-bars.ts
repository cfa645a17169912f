import { REGIONS, type Region } from "../../../market/regions.js";
import { openMinute, SESSION_HOURS } from "../../../market/sessions.js";
import type { ImportOptions } from "../import-options.js";
import type { KnownSource, NamedUnits } from "./choose-columns.js";

/** What all rows of a file show, counted. Rows are those whose symbol and time were read. */
export interface FileEvidence {
  readonly rows: number;
  readonly symbols: number;
  /** Different dates of each symbol, summed; of a table of days its rows. */
  readonly days: number;
  /** Rows that give a date and no time. */
  readonly dates: number;
  /** Rows with an instant: an offset, or a count since 1970. */
  readonly instants: number;
  /** Instants at midnight in UTC, or by the clock of their own offset. */
  readonly midnights: number;
  /** Symbols of the US with such instants and with at least two others. */
  readonly doubtful: number;
  /** Rows on a Saturday or Sunday, by the exchange's date, and by the own date of midnights. */
  readonly weekends: number;
  readonly ownWeekends: number;
  /** Different times of day, in minutes; and the first two. */
  readonly clocks: number;
  readonly firstClocks: readonly number[];
  /** Rows with the same symbol and date as another one. */
  readonly sameDay: number;
  /** Symbols whose bars have a period of several days, and that period. */
  readonly longPeriod: { readonly symbol: string; readonly days: number } | undefined;
  /** Of minutes, by region. */
  readonly minutes: readonly MinuteEvidence[];
}

/** What the minutes of a region show. Counts are of rows. */
export interface MinuteEvidence {
  readonly region: Region;
  readonly rows: number;
  /** Rows that are not at a whole minute. */
  readonly seconds: number;
  /** Rows at the opening minute, at the closing one, and at the first and last minute of the afternoon. */
  readonly atOpen: number;
  readonly atClose: number;
  readonly atNoonEnd: number;
  readonly atAfternoon: number;
  /** Rows at the minute after the opening one: the first that ends in the session. */
  readonly atSecond: number;
  /** Rows at the minute before the closing one: the last that begins in the session. */
  readonly atLast: number;
  /** Rows before the opening minute. */
  readonly early: number;
  /** Rows at times at which the region never trades. */
  readonly outside: number;
  readonly opening: number;
  readonly closing: number;
  /** From the first to the last minute of the day in the regular session that has a row. */
  readonly span: number;
  /** At the ends of the extended hours of the US. */
  readonly atFour: number;
  readonly atTwenty: number;
  /** Rows within the regular session of the region: as read, and if the times were UTC. */
  readonly regular: number;
  readonly regularAsUtc: number;
  /** Different minutes of the day. */
  readonly clocks: number;
  /** The greatest of 60, 30, 15, 10, 5, 3, 2 that divides the distance of all minutes; 1 if none does. */
  readonly step: number;
}

/** The times of a file, as they will land; or why the file is refused, and what decides. */
export interface TimeVerdict {
  readonly refusal?: { readonly reason: string; readonly hint: string };
  /** Whether instants at midnight have the date of their own clock. */
  readonly ownDates: boolean;
  /** Minutes that are added to the labels of minute bars. */
  readonly shift: number;
  readonly found: readonly string[];
  readonly remarks: readonly string[];
}

type Refusal = NonNullable<TimeVerdict["refusal"]>;

/** Fewest different times from which a period of several minutes is concluded. */
const FEW_CLOCKS = 4;
/** A share of rows from which it is concluded that a file is in another zone. */
const FEW = 0.05;
/** A share of rows that leaves no doubt. */
const MOST = 0.9;
/** A share of rows of the regular session that files with extended hours have, too. */
const SOME = 0.75;

export function judgeDays(evidence: FileEvidence, options: ImportOptions): TimeVerdict {
  const ownDates = options.zone === undefined && hasOwnDates(evidence);
  if (options.zone === undefined && !ownDates && evidence.doubtful > 0)
    return {
      refusal: {
        reason: "some of its instants are at midnight, and others are not",
        hint: 'say in which zone their dates are: `zone: "UTC"`, or `zone: "America/New_York"`',
      },
      ownDates,
      shift: 0,
      found: [],
      remarks: [],
    };
  const period = options.period === "1d" ? undefined : periodOfDays(evidence);
  const weekends = ownDates ? evidence.ownWeekends : evidence.weekends;
  const found: string[] = [];
  if (ownDates) found.push("midnights: their own date is the trading date");
  else if (evidence.instants > 0) found.push("the date is the exchange's own at the instant");
  else if (evidence.dates < evidence.rows) found.push("the time of day is not part of the date");
  const remarks: string[] = [];
  if (weekends > 0 && evidence.rows > 0)
    remarks.push(
      `${weekends} of ${evidence.rows} bars are on a Saturday or Sunday${
        weekends / evidence.rows > 0.1 && evidence.instants > 0
          ? ': are the dates right? (`zone: "UTC"` reads instants in another zone)'
          : ""
      }`,
    );
  if (period !== undefined)
    return { refusal: periodRefusal(period, "days"), ownDates, shift: 0, found, remarks };
  return { ownDates, shift: 0, found, remarks };
}

/**
 * A day has one bar: instants at midnight have the date of their own clock, unless only that reading has them on weekends.
 * One other instant of each symbol may be the running day; more of them may be evenings of the exchange.
 */
function hasOwnDates({ midnights, doubtful, weekends, ownWeekends }: FileEvidence): boolean {
  return midnights > 0 && doubtful === 0 && (ownWeekends === 0 || weekends > 0);
}

function periodOfDays({ rows, clocks, firstClocks, sameDay, longPeriod }: FileEvidence): string | undefined {
  if (longPeriod !== undefined) return daysPeriod(longPeriod.days);
  const isSeveral = clocks > 2 || (clocks === 2 && !firstClocks.includes(0) && sameDay > 0);
  if (!isSeveral || sameDay < rows / 2) return undefined;
  const [first = 0, second = 0] = firstClocks;
  const step = second - first;
  return step === 1 ? "minutes" : step >= 60 ? `about ${Math.round(step / 60)} hours` : `${step} minutes`;
}

function daysPeriod(days: number): string {
  if (days >= 300) return "years";
  if (days >= 80) return "quarters";
  return days >= 25 ? "months" : "weeks";
}

function periodRefusal(period: string, table: "days" | "minutes"): Refusal {
  const other = table === "days" ? "bars_1m" : "bars_1d";
  const isOther = (table === "days" ? "minutes" : "days") === period;
  return {
    reason: `its bars are of ${period}, and the table is of ${table}`,
    hint: isOther
      ? `import them into ${other}; or \`period: "${table === "days" ? "1d" : "1m"}"\` if they are of ${table}`
      : `the lake makes longer periods of bars_1d and bars_1m, which need the shorter bars; \`period: "${table === "days" ? "1d" : "1m"}"\` if they are of ${table}`,
  };
}

export function judgeMinutes(evidence: FileEvidence, options: ImportOptions): TimeVerdict {
  const nothing = { ownDates: false, shift: 0, found: [], remarks: [] };
  const { rows, dates, minutes } = evidence;
  const refused = (refusal: Refusal): TimeVerdict => ({ ...nothing, refusal });
  if (rows === 0) return nothing;
  const isDaily = evidence.clocks === 1 && evidence.sameDay === 0 && rows > 1;
  if (options.period !== "1m") {
    if (dates > rows / 2 || isDaily) return refused(periodRefusal("days", "minutes"));
    const long = minutes.find(({ step, clocks }) => step > 1 && clocks >= FEW_CLOCKS);
    if (long !== undefined)
      return refused(periodRefusal(long.step === 60 ? "hours" : `${long.step} minutes`, "minutes"));
    const { clocks, days } = evidence;
    if (minutes.some(({ step }) => step > 1) && clocks < FEW_CLOCKS && days > 2 && rows === days * clocks)
      return refused(periodRefusal(`a few hours (${clocks} a day)`, "minutes"));
    const seconds = minutes.reduce((sum, one) => sum + one.seconds, 0);
    if (seconds > 0)
      return refused({
        reason: `${seconds} of its ${rows} times are not at whole minutes`,
        hint: "a bar of one minute is labelled with the end or the start of its minute",
      });
  }
  if (options.zone === undefined && evidence.instants === 0) {
    const shifted = minutes.find(
      ({ rows: all, regular, regularAsUtc }) => all > 1 && regularAsUtc >= all * MOST && regular < all * SOME,
    );
    if (shifted !== undefined)
      return refused({
        reason: `its times are outside of the session of ${shifted.region}, and within it if they are UTC`,
        hint: 'add `zone: "UTC"`, or the exchange\'s own zone if they are right',
      });
    const foreign = minutes.find((one) => isOfOtherZone(one));
    if (foreign !== undefined) return refused(zoneRefusal(foreign));
  }
  return label(evidence, options);
}

/** Whether minutes are at times at which their region does not trade, or are of whole days without the opening or the close. */
function isOfOtherZone(one: MinuteEvidence): boolean {
  const { rows, outside, clocks, opening, closing, early } = one;
  return outside > rows * FEW || (clocks >= WHOLE_SESSION && (opening === 0 || (closing === 0 && early > 0)));
}

function zoneRefusal({ region, rows, outside, opening }: MinuteEvidence): Refusal {
  const [from, to] = TRADING_HOURS[region];
  const reason =
    outside > rows * FEW
      ? `${outside} of its ${rows} times are not within the hours of ${region}, ${clockOf(from)} to ${clockOf(to)}`
      : `its days have no bar in the half hour ${opening === 0 ? "after the opening" : "before the close"} of ${region}`;
  return {
    reason,
    hint: `say in which zone its times are, such as \`zone: "Europe/Berlin"\`; \`zone: "${REGIONS[region].zone}"\` if they are the exchange's own`,
  };
}

/** The minutes of a day within which a region trades, with its auctions and extended hours. */
export const TRADING_HOURS: Readonly<Record<Region, readonly [from: number, to: number]>> = {
  CN: [9 * 60, 15 * 60 + 30],
  HK: [9 * 60, 16 * 60 + 30],
  US: [4 * 60, 20 * 60],
};

function label({ minutes }: FileEvidence, { barLabel }: ImportOptions): TimeVerdict {
  const base = { ownDates: false, remarks: [] };
  if (barLabel !== undefined)
    return {
      ...base,
      shift: barLabel === "start" ? 1 : 0,
      found: [`labels at the ${barLabel} of the minute`],
    };
  const labels = new Set(minutes.map(shownLabel));
  const [only] = labels;
  if (labels.size === 1 && only !== undefined) {
    const { region } = minutes[0] as MinuteEvidence;
    const first = clockOf(openMinute(region) + (only === "start" ? 0 : 1));
    return {
      ...base,
      shift: only === "start" ? 1 : 0,
      found: [`labels at the ${only} of the minute: the first bar of the session is ${first}`],
    };
  }
  return {
    ...base,
    shift: 0,
    found: [],
    refusal: {
      reason: "it does not show whether its bars are labelled with the start or the end of their minute",
      hint: 'add `barLabel: "start"` or `barLabel: "end"`',
    },
  };
}

/** The minutes in which a region trades from the first to the last one of a part of a session. */
function tradedSpan(region: Region, span: number): number {
  const [first, second] = SESSION_HOURS[region].parts;
  const isBroken = first !== undefined && second !== undefined && span > first[1] - first[0] + 1;
  return isBroken ? span - (second[0] - first[1]) : span;
}

/** The label that the minutes of a region show; undefined where they show none. */
function shownLabel(one: MinuteEvidence): "start" | "end" | undefined {
  const {
    region,
    atOpen,
    atSecond,
    atLast,
    atClose,
    atAfternoon,
    atNoonEnd,
    atFour,
    atTwenty,
    early,
    clocks,
    span,
    rows,
    regular,
  } = one;
  // Of a stock that trades each minute no file lacks only the first one. A bar of the closing auction has the label of the
  // close in both ways.
  const beginsWithEnd =
    clocks >= tradedSpan(region, span) * MOST &&
    atOpen === 0 &&
    atSecond > 0 &&
    (atClose > 0 || atLast === 0);
  if (region === "US") {
    if (early > 0 || rows > regular) {
      if (atFour > 0 && atTwenty === 0) return "start";
      return atTwenty > 0 && atFour === 0 ? "end" : undefined;
    }
    if (atOpen > 0) return atClose === 0 && clocks >= WHOLE_SESSION ? "start" : undefined;
    return beginsWithEnd ? "end" : undefined;
  }
  // A bar of the opening auction has the same label in both ways.
  if (atAfternoon > 0) return atNoonEnd === 0 && atClose === 0 ? "start" : undefined;
  return atNoonEnd > 0 || beginsWithEnd ? "end" : undefined;
}

/** Different minutes of the US after which a session was seen nearly to its end. */
const WHOLE_SESSION = 300;

function clockOf(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
}

/** Rows of a file whose amount lies between low x volume and high x volume, by the factor on the volume. */
export interface UnitEvidence {
  /** Rows with a volume and an amount. */
  readonly rows: number;
  /** By the quotient of both units (volume / amount): how many rows agree with it. */
  readonly agreeing: ReadonlyMap<number, number>;
}

interface UnitVerdict {
  readonly refusal?: Refusal;
  readonly volumeUnit: NonNullable<ImportOptions["volumeUnit"]>;
  readonly amountUnit: NonNullable<ImportOptions["amountUnit"]>;
  readonly found: readonly string[];
  readonly remarks: readonly string[];
}

/** Quotients of units, and what they mean: the first of each is the usual one. */
const READINGS: readonly (readonly [UnitVerdict["volumeUnit"], UnitVerdict["amountUnit"], number, number])[] =
  [
    ["shares", "ones", 1, 1],
    ["lots", "ones", 100, 1],
    ["lots", "thousands", 100, 1e3],
    ["shares", "thousands", 1, 1e3],
    ["lots", "ten-thousands", 100, 1e4],
    ["shares", "ten-thousands", 1, 1e4],
    ["thousands", "ones", 1e3, 1],
    ["thousands", "thousands", 1e3, 1e3],
    ["ten-thousands", "ones", 1e4, 1],
    ["ten-thousands", "ten-thousands", 1e4, 1e4],
    ["shares", "hundred-millions", 1, 1e8],
  ];

/** The quotients (unit of volume / unit of amount) that are tested. */
export const UNIT_QUOTIENTS: readonly number[] = [...new Set(READINGS.map(([, , v, a]) => v / a))];

/**
 * Judges the units of a file: what the user says counts, then what the names of columns say, then what the source says and
 * the numbers do not refute.
 */
export function judgeUnits(
  evidence: UnitEvidence,
  { source, units }: { readonly source: KnownSource | undefined; readonly units: NamedUnits },
  options: ImportOptions,
): UnitVerdict {
  const isOnlySource =
    [options.volumeUnit, options.amountUnit, units.volume, units.amount].every((one) => one === undefined) &&
    source !== undefined;
  if (isOnlySource && (evidence.agreeing.get(1) ?? 0) >= Math.max(1, evidence.rows * MOST))
    return { volumeUnit: "shares", amountUnit: "ones", found: [], remarks: [] };
  const claimed = {
    volumeUnit: options.volumeUnit ?? units.volume ?? source?.volumeUnit ?? "shares",
    amountUnit: options.amountUnit ?? units.amount ?? source?.amountUnit ?? "ones",
  } as const;
  const from = claimFound(claimed, { source, units }, options);
  const agrees = (quotient: number): boolean =>
    (evidence.agreeing.get(quotient) ?? 0) >= Math.max(1, evidence.rows * MOST);
  const factorOf = (v: UnitVerdict["volumeUnit"], a: UnitVerdict["amountUnit"]): number =>
    (READINGS.find(([volume, amount]) => volume === v && amount === a) ?? ["", "", 0, 1])
      .slice(2)
      .reduce((x, y) => (x as number) / (y as number)) as number;
  if (evidence.rows === 0) return { ...claimed, found: from, remarks: [] };
  const quotient = factorOf(claimed.volumeUnit, claimed.amountUnit);
  if (agrees(quotient)) {
    const shown =
      quotient === 1 && from.length === 0
        ? []
        : [
            `amount / volume lies between low and high in ${evidence.agreeing.get(quotient)} of ${evidence.rows} bars`,
          ];
    return { ...claimed, found: [...from, ...shown], remarks: [] };
  }
  const likely = UNIT_QUOTIENTS.find((one) => agrees(one));
  if (likely === undefined) {
    return {
      ...claimed,
      found: from,
      remarks: [
        "amount / volume is no price of these bars in any usual unit (indexes are like this): both land as they are",
      ],
    };
  }
  const readings = READINGS.filter(
    ([volume, amount, v, a]) =>
      v / a === likely &&
      (options.volumeUnit === undefined || options.volumeUnit === volume) &&
      (options.amountUnit === undefined || options.amountUnit === amount),
  );
  const [only] = readings;
  const isGiven = options.volumeUnit !== undefined || options.amountUnit !== undefined;
  if (only !== undefined && readings.length === 1 && isGiven && options.amountUnit === undefined) {
    return {
      volumeUnit: only[0],
      amountUnit: only[1],
      found: [
        `amounts in ${only[1]}: amount / volume then lies between low and high in ${evidence.agreeing.get(likely)} of ${evidence.rows} bars`,
      ],
      remarks: [],
    };
  }
  const times = 1 / likely;
  return {
    ...claimed,
    found: [],
    remarks: [],
    refusal: {
      reason: `amount / volume is ${likely === 1 ? "" : likely > 1 ? `${likely} times of ` : `1/${times} of `}the price in ${evidence.agreeing.get(likely)} of ${evidence.rows} bars: its units are not ${claimed.volumeUnit} and ${claimed.amountUnit}`,
      hint:
        readings.length === 0
          ? "leave out one of the options about units: no reading of the numbers agrees with them"
          : `add ${readings
              .slice(0, 2)
              .map(([volume, amount]) =>
                [
                  volume === "shares" && claimed.volumeUnit === "shares" ? "" : `\`volumeUnit: "${volume}"\``,
                  amount === "ones" && claimed.amountUnit === "ones" ? "" : `\`amountUnit: "${amount}"\``,
                ]
                  .filter((one) => one !== "")
                  .join(" "),
              )
              .join(", or ")}`,
    },
  };
}

/** Where the units come from, if the user does not say them. */
function claimFound(
  claimed: Pick<UnitVerdict, "volumeUnit" | "amountUnit">,
  { source, units }: { readonly source: KnownSource | undefined; readonly units: NamedUnits },
  options: ImportOptions,
): string[] {
  const found: string[] = [];
  if (options.volumeUnit === undefined && claimed.volumeUnit !== "shares")
    found.push(
      units.volume === undefined
        ? `volumes in ${claimed.volumeUnit}, as ${source?.name} writes them`
        : `volumes in ${claimed.volumeUnit}, as the name of their column says`,
    );
  if (options.amountUnit === undefined && units.amount !== undefined && units.amount !== "ones")
    found.push(`amounts in ${claimed.amountUnit}, as the name of their column says`);
  return found;
}
