import { releaseAfter } from "../../../core/release-after.js";
import { landTradingDays } from "../../../lake/land/trading-days.js";
import { BARS_1D } from "../../../schema/bars.js";
import { landEarlierAbsences, recordAbsencesLand } from "../../ledger/ledger.js";
import { explainLeftovers } from "../../run/leftovers.js";
import type { Run } from "../../run/run.js";
import { landOptions } from "../../run/run-context.js";
import { RequestSharing } from "../request-sharing.js";
import { AskingBars } from "./asking-bars.js";
import type { BarsDemand, PlanFacts } from "./bars-demand.js";

/**
 * Requests the bars that are not covered, in the order of their windows; responses land while other requests are in
 * flight.
 *
 * The requests are planned again when a response shows that the service returns more, or fewer, bars than assumed.
 *
 * @returns the facts of the plan.
 */
export async function ingestBars(run: Run, demand: BarsDemand): Promise<PlanFacts> {
  run.progress.doing("planning");
  const { session, lake } = run.context;
  if (demand.period === "1d") await landEarlierAbsences(session, lake, landOptions(run.context));
  const { facts, sharing } = await RequestSharing.open(run, demand);
  const asking = new AskingBars(run, demand, facts, sharing);
  await releaseAfter(
    async () => {
      while (!run.requests.isHalted(asking.table.name) && (await asking.askPlanned()));
      await asking.landing.finish();
      await explainLeftovers(run, demand, asking.leftovers);
    },
    () => sharing.release(),
    () => asking.landing.finish(),
  );
  const { landed } = run.log.facts();
  const hasLanded = landed.some(({ table, inserted }) => table === BARS_1D.name && inserted > 0);
  if (!hasLanded) return facts;
  run.log.landed(await landTradingDays(session, lake, landOptions(run.context)));
  // A lake that began with this version has nothing to derive later.
  await recordAbsencesLand(lake, landOptions(run.context));
  return facts;
}
