import { Cron } from "croner";
import { messageOf } from "../core/errors.js";
import type { TradingDate } from "../core/time.js";
import { REGIONS, type Region } from "../market/regions.js";
import { addDays } from "../market/sessions.js";
import { instantOf, localDate } from "../market/zone.js";

/** Days on which a rule applies: days on which the region's exchanges have a session, or every day. */
type DayRule = "trading" | "daily";

/**
 * When a pipeline is due: at times of day in a region's zone, or by a cron expression in a region's zone (UTC if no
 * region is given).
 */
export type ScheduleRule =
  | {
      /**
       * Times of day, `HH:MM`. A time that is skipped by a change of clocks is due after the change; a time that occurs
       * twice is due once.
       */
      readonly at: readonly string[];
      readonly region: Region;
      readonly days: DayRule;
    }
  | {
      /** Five fields, or six with seconds first. */
      readonly cron: string;
      readonly region?: Region | undefined;
      readonly days: DayRule;
    };

/** Whether a region's exchanges have a session on a date in the region's zone. */
export type IsTradingDay = (region: Region, date: TradingDate) => boolean;

/** Number of consecutive dates without a session after which a rule counts as never due. */
const MOST_DAYS_OFF = 400;

/**
 * The first time after an instant at which one of the rules is due. Both are epoch milliseconds.
 *
 * @returns undefined where no rule is ever due again.
 */
export function nextDue(
  rules: readonly ScheduleRule[],
  after: number,
  isTradingDay: IsTradingDay,
): number | undefined {
  const times = rules.flatMap((rule) =>
    expressionsOf(rule).map((expression) => nextOf(expression, rule, after, isTradingDay) ?? Infinity),
  );
  const first = Math.min(...times);
  return first === Infinity ? undefined : first;
}

/** What is wrong with a cron expression, in words; undefined where it is valid. */
export function cronFault(expression: string): string | undefined {
  try {
    const cron = cronOf(expression, "UTC");
    if (cron.getOnce() !== null) return "is a date, and no cron expression";
    return cron.nextRun() === null ? "is never due" : undefined;
  } catch (error) {
    return messageOf(error).replace(/^\w+: /, "");
  }
}

function nextOf(
  expression: string,
  { region, days }: ScheduleRule,
  after: number,
  isTradingDay: IsTradingDay,
): number | undefined {
  const zone = zoneOf(region);
  const cron = cronOf(expression, zone);
  let from = after;
  for (let daysOff = 0; daysOff < MOST_DAYS_OFF; daysOff++) {
    const next = cron.nextRun(new Date(from))?.getTime();
    if (next === undefined || region === undefined || days === "daily") return next;
    const date = localDate(next, zone);
    if (isTradingDay(region, date)) return next;
    from = instantOf(addDays(date, 1), zone) - 1;
  }
  return undefined;
}

function expressionsOf(rule: ScheduleRule): readonly string[] {
  if ("cron" in rule) return [rule.cron];
  return rule.at.map((time) => {
    const [hour, minute] = time.split(":").map(Number);
    return `${minute} ${hour} * * *`;
  });
}

export function zoneOf(region: Region | undefined): string {
  return region === undefined ? "UTC" : REGIONS[region].zone;
}

/** @throws where the expression is invalid. */
function cronOf(expression: string, timezone: string): Cron {
  return new Cron(expression, { timezone, paused: true, mode: "5-or-6-parts" });
}
