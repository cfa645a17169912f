import { InvalidArgumentError, Option } from "commander";
import { millisecondsInHour } from "date-fns/constants";
import { DAY_MS } from "../../core/time.js";

/** How long old versions remain readable: a time such as 7d or 12h, in milliseconds. */
export function retentionOption(doc: string, byDefault: string): Option {
  return new Option("--retention <time>", doc)
    .argParser(parseRetention)
    .default(parseRetention(byDefault), byDefault);
}

function parseRetention(given: string): number {
  const [, amount, unit] = /^(\d{1,5})([dh])$/.exec(given) ?? [];
  if (amount === undefined)
    throw new InvalidArgumentError(
      "It is no time; write it like 7d or 12h: with 0h only the newest version remains.",
    );
  return Number(amount) * (unit === "d" ? DAY_MS : millisecondsInHour);
}
