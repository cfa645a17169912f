import { SESSION_HOURS, sessionMinutes } from "../../market/sessions.js";
import { literal } from "../quote.js";
import { perRegion } from "./region-sql.js";

/** Whether a bar that ends at a local time of day is a minute of the session; the bar of the auction is not. */
export function isSessionMinuteSql(region: string, time: string): string {
  return perRegion(region, (facts) => {
    const parts = SESSION_HOURS[facts.region].parts.map(
      ([open, close]) => `(${time} > ${timeSql(open)} AND ${time} <= ${timeSql(close)})`,
    );
    return `(${parts.join(" OR ")})`;
  });
}

/** How many minutes a region's session has, without its auctions. */
export function sessionMinutesSql(region: string): string {
  return perRegion(region, (facts) => String(sessionMinutes(facts.region)));
}

function timeSql(minute: number): string {
  const [hours, minutes] = [Math.floor(minute / 60), minute % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `TIME ${literal(`${hours}:${minutes}`)}`;
}
