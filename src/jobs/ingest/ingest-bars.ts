import { landTradingDays } from "../../lake/trading-days.js";
import { INCOMPLETE } from "../../plan/absence.js";
import { BARS_1D } from "../../schema/bars.js";
import { AskingBars } from "./asking-bars.js";
import { type BarsDemand, barsTable, rangeOf, readPlanFacts } from "./bars-demand.js";
import { readHoles } from "./ledger-holes.js";
import type { Run } from "./run.js";

/**
 * Asks for the bars that are not covered, in the order of their windows; answers land while others are asked for.
 *
 * The requests are planned anew whenever an answer shows that the service gives more, or less, than was assumed.
 */
export async function ingestBars(run: Run, demand: BarsDemand): Promise<void> {
  const asking = new AskingBars(run, demand, await readPlanFacts(run, demand));
  try {
    while (!run.isHalted(asking.table.name) && (await asking.askPlanned()));
  } finally {
    await asking.landing.finish();
  }
  await asking.explainAbsences();
  await noteHoles(run, demand);
  const hasLanded = run.landed.some(({ table, inserted }) => table === BARS_1D.name && inserted > 0);
  if (hasLanded) run.landed.push(await landTradingDays(run.session, run.lake, run.landOptions()));
}

/** Notes what of a demand is missing without an explanation, or was set aside, by this run or by one before it. */
async function noteHoles(run: Run, demand: BarsDemand): Promise<void> {
  const dataset = barsTable(demand.period).name;
  const holes = await run.exclusive(() => readHoles(run.session, run.lake, dataset));
  for (const [region, symbols] of demand.symbols) {
    const { start, end } = rangeOf(region, demand, run.clock.now());
    for (const symbol of symbols) {
      for (const { reason, window } of holes.get(symbol) ?? []) {
        if (!INCOMPLETE.has(reason) || window.start >= end || window.end <= start) continue;
        if (reason === "unexplained") run.completeness.unexplained(dataset, { symbol, ...window });
        else if (!run.completeness.hasSetAside(dataset, symbol, window))
          run.completeness.setAside(dataset, { symbol, window, bars: undefined });
      }
    }
  }
}
