import { cases, pickFrom } from "../../sweep.js";

/** Programs for backtests. Each takes ten seconds or more to load and run. */
const ENGINES = ["vectorbt", "qlib", "backtrader", "zipline"] as const;

/** A run of the long tests tries two of them, by the commit; a soak tries all. */
const DRAWN = pickFrom(ENGINES, cases({ few: 2, more: 2, all: ENGINES.length }));

/** Whether this run tries a program. */
export function isDrawn(engine: (typeof ENGINES)[number]): boolean {
  return DRAWN.includes(engine);
}
