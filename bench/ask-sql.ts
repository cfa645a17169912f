import type { Session } from "../src/db/session/session.js";
import type { Case } from "./measure/benchmark.js";

/** A query as a case. */
export interface SqlCase {
  readonly name: string;
  readonly baseline: string;
  readonly sql: string;
  /** Sums over the rows of the result, to compare it with the baseline's. */
  readonly numbers: readonly string[];
}

/** Times a query; its result is computed again, as sums, for the comparison. */
export function askSql(session: Session, { name, baseline, sql, numbers }: SqlCase): Case {
  const sums = numbers.map((number, index) => `sum(${number})::DOUBLE AS n${index}`);
  return {
    name,
    baseline,
    async run(timed) {
      await timed(() => session.run(sql));
      const [checks] = await session.json<Record<string, number>>(
        `SELECT count(*)::DOUBLE AS rows, ${sums.join(", ")} FROM (${sql})`,
      );
      return { checks: checks ?? {} };
    },
  };
}
