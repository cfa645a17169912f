import type { Region } from "../../market/regions.js";
import { SESSION_HOURS } from "../../market/sessions.js";

/** The minute bars that a day of a region can have. */
export interface SessionMinutes {
  /**
   * Labels in minutes after local midnight: the END of each minute. In CN the first one is that of the auction, 09:30.
   */
  readonly labels: Int16Array;
  /** Usual weight of each bar in the volume of the day, on an arbitrary scale. */
  readonly weights: Float64Array;
  /** 1 where the first bar is that of an opening auction, which a day may lack; 0 otherwise. */
  readonly auctionBars: 0 | 1;
}

/** The regular session of each region. */
export const SESSION_MINUTES: Readonly<Record<Region, SessionMinutes>> = {
  CN: sessionOf("CN", 1),
  HK: sessionOf("HK", 0),
  US: sessionOf("US", 0),
};

function sessionOf(region: Region, auctionBars: 0 | 1): SessionMinutes {
  const labels: number[] = [];
  for (const [open, close] of SESSION_HOURS[region].parts) {
    if (labels.length === 0 && auctionBars === 1) labels.push(open);
    for (let minute = open + 1; minute <= close; minute++) labels.push(minute);
  }
  const weights = Float64Array.from(labels, (_, i) => {
    const x = i / (labels.length - 1);
    return 0.6 + 2.6 * Math.exp(-14 * x) + 1.2 * Math.exp(-10 * (1 - x));
  });
  if (region === "CN") {
    // From 14:57 orders wait for the closing auction at 15:00, so the minutes in between have no trades.
    weights[labels.length - 3] = 0;
    weights[labels.length - 2] = 0;
    weights[labels.length - 1] = 4;
  }
  return { labels: Int16Array.from(labels), weights, auctionBars };
}
