import { regionSql } from "../../../../src/db/market/region-sql.js";
import { literal } from "../../../../src/db/quote.js";
import { REGIONS, type Region } from "../../../../src/market/regions.js";
import type { Event } from "../chronicle.js";
import type { SymbolTime } from "./symbol-time.js";

/** A run's promise. */
export interface Promised {
  /** Epoch milliseconds. */
  readonly began: number;
  readonly ended: number;
  /** Whether the promise is binding: a run in which requests failed does not list what it lacks. */
  readonly kept: boolean;
  readonly open: readonly SymbolTime[];
  readonly withdrawn: readonly (SymbolTime & { readonly bars: number })[];
  /** Whether another engine has deleted rows since the run began. */
  readonly hasDeletions: boolean;
}

/** The promise of a pipeline's last run; undefined if none has ended in the last life. */
export function promiseOf(events: readonly Event[], pipeline: string): Promised | undefined {
  const life = events.at(-1)?.life;
  const own = events.filter(
    (event) => event.life === life && "pipeline" in event && event.pipeline === pipeline,
  );
  const [began, ended] = [own.at(-2), own.at(-1)];
  if (began?.kind !== "began" || ended?.kind !== "ended") return undefined;
  // A run in which requests failed does not list what it lacks because of them.
  const kept = ended.status === "complete" || (ended.status === "partial" && ended.failures.length === 0);
  const { open, withdrawn } = ended;
  const run = events.slice(events.indexOf(began));
  const hasDeletions = run.some((event) => event.kind === "foreign" && event.deleted !== undefined);
  return { began: began.at, ended: ended.at, kept, open, withdrawn, hasDeletions };
}

/** An SQL value that depends on the region of a row's symbol. */
export function byRegion(valueOf: (region: Region) => number): string {
  const cases = Object.keys(REGIONS).map(
    (region) => `WHEN ${literal(region)} THEN ${valueOf(region as Region)}`,
  );
  return `CASE ${regionSql("symbol")} ${cases.join(" ")} END`;
}

/** An SQL condition: whether a row is in one of some times of symbols. */
export function isIn(times: readonly SymbolTime[]): string {
  const values = times.map(({ symbol, start, end }) => `(${literal(symbol)}, ${start}, ${end})`);
  return `EXISTS (FROM (VALUES ${["('', 0, 0)", ...values].join(", ")}) o(s, f, e)
    WHERE o.s = symbol AND "timestamp" >= o.f AND "timestamp" < o.e)`;
}
