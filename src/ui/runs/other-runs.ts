import { millisecondsInHour as HOUR_MS } from "date-fns/constants";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { type RequestsInFlight, requestsInFlight } from "../../lake/requests/request-leases.js";
import { leasedRuns } from "../../lake/requests/run-lease.js";
import { nameOfOwner, type Owner } from "../../lease/owner.js";
import type { OtherRunReport } from "./runs-data.js";

/** Most runs that are shown. */
const MOST_RUNS = 20;

/** What the ledger contains about a run without a record of its end. */
export interface LedgerRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly requests: number;
  readonly failed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly firstAskedAt: number;
  readonly lastAskedAt: number;
}

/** The runs of other processes that are in progress, from their leases and from what they have landed so far. */
export async function otherRuns(session: Session, lake: Lake, now: number): Promise<OtherRunReport[]> {
  const [inFlight, leased] = await Promise.all([requestsInFlight(lake), leasedRuns(lake)]);
  const ids = [...new Set([...inFlight.map(({ runId }) => runId), ...leased.keys()])];
  const ledger = await session.json<LedgerRun>(
    `SELECT run_id AS "runId", any_value(pipeline) AS pipeline, count(*) FILTER (attempts > 0)::DOUBLE AS requests,
       count(*) FILTER (status IN ('refused', 'failed'))::DOUBLE AS failed, sum("rows")::DOUBLE AS rows,
       sum(bytes)::DOUBLE AS bytes, epoch_ms(min(asked_at))::DOUBLE AS "firstAskedAt",
       epoch_ms(max(asked_at))::DOUBLE AS "lastAskedAt"
     FROM raw.requests
     WHERE asked_at > make_timestamptz(($1::DOUBLE * 1000)::BIGINT) OR list_contains(string_split($2, chr(10)), run_id)
     GROUP BY run_id HAVING run_id NOT IN (SELECT run_id FROM raw.runs)
     ORDER BY "lastAskedAt" DESC LIMIT ${MOST_RUNS}`,
    [now - HOUR_MS, ids.join("\n")],
  );
  const [ended] = await session.json<{ ids: string[] }>(
    "SELECT coalesce(list(run_id), []) AS ids FROM raw.runs WHERE list_contains(string_split($1, chr(10)), run_id)",
    [ids.join("\n")],
  );
  return mergeRuns(inFlight, leased, ledger, new Set(ended?.ids));
}

/** Combines the facts about runs from the leases and the ledger. @param ended ids of runs that have ended */
export function mergeRuns(
  inFlight: readonly RequestsInFlight[],
  leased: ReadonlyMap<string, Owner & { readonly pipeline: string }>,
  ledger: readonly LedgerRun[],
  ended: ReadonlySet<string>,
): OtherRunReport[] {
  const ids = new Set([
    ...ledger.map(({ runId }) => runId),
    ...inFlight.map(({ runId }) => runId),
    ...leased.keys(),
  ]);
  const runs = [...ids]
    .filter((id) => !ended.has(id))
    .map((runId): OtherRunReport => {
      const landed = ledger.find((one) => one.runId === runId);
      const flying = inFlight.find((one) => one.runId === runId);
      const owner = flying ?? leased.get(runId);
      return {
        runId,
        pipeline: landed?.pipeline ?? leased.get(runId)?.pipeline ?? null,
        startedAt: startOf(runId) ?? landed?.firstAskedAt ?? null,
        owner: owner === undefined ? null : nameOfOwner(owner),
        inFlight: flying?.requests ?? 0,
        datasets: flying?.datasets ?? [],
        requests: landed?.requests ?? 0,
        failed: landed?.failed ?? 0,
        rows: landed?.rows ?? 0,
        bytes: landed?.bytes ?? 0,
        lastAskedAt: landed?.lastAskedAt ?? null,
      };
    });
  return runs.sort((a, b) => (a.runId < b.runId ? 1 : -1)).slice(0, MOST_RUNS);
}

/** When a run began, in epoch milliseconds, according to its id. */
function startOf(runId: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-/.exec(runId)?.slice(1);
  if (parts === undefined) return undefined;
  const [year, month, day, hour, minute, second] = parts;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
