import { finalEnd, sessionDates } from "../../calendar/sessions.js";
import { REGIONS, type Region } from "../../core/exchange.js";
import { BARS_1M } from "../../schema/bars.js";
import { decodeKlines } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { received } from "./klines-request.js";
import { LandingBars } from "./landing-bars.js";
import { lastAnswers } from "./ledger.js";
import type { Run } from "./run.js";

/** Asks for the latest trading day's minute bars of whole universes; a day that is complete is not asked for twice. */
export async function ingestIntraday(run: Run, universes: readonly string[]): Promise<void> {
  const endpoint = ENDPOINTS.intradayUniverse;
  const answered = await lastAnswers(
    run.session,
    run.lake,
    BARS_1M.name,
    `${endpoint.method} ${endpoint.path}`,
  );
  const due = universes.filter((id) => isDue(answered.get(id), run.clock.now()));
  run.progress.plan(BARS_1M.name, due.length);
  const landing = new LandingBars(run, BARS_1M);
  for (const id of due) {
    if (run.isHalted(BARS_1M.name)) break;
    run.progress.doing(`minutes of ${id}`);
    const got = await run.ask(
      { endpoint, query: { universes: id, period: "1m", count: LIMITS.maxCount } },
      { dataset: BARS_1M.name, symbols: [id] },
      async (body) => received(await decodeKlines(body, { shape: "map" }, run.buffers)),
    );
    if (got !== undefined) await landing.take(got);
  }
  await landing.finish();
  await run.landLedger();
}

/** Something may be new since the last answer: a session was running then, or has begun in some region since. */
function isDue(lastAt: number | undefined, now: number): boolean {
  if (lastAt === undefined) return true;
  return (Object.keys(REGIONS) as Region[]).some((region) => {
    return sessionDates(region, { start: finalEnd(region, lastAt), end: now }, now).length > 0;
  });
}
