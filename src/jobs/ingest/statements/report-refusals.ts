import type { ServiceError } from "../../../core/errors.js";
import type { StatementName } from "../../../schema/statements.js";
import type { Run } from "../../run/run.js";

/** How the requests for a table of statements ended. */
export interface TableOutcome {
  readonly name: StatementName;
  /** Number of symbols that were to be requested. */
  readonly symbols: number;
  /** Whether no earlier run has received a response. */
  readonly isNew: boolean;
  /** Whether this run has received a response. */
  readonly isAnswered: boolean;
  /** The refusal of the whole table; undefined where there was none. */
  readonly refusal: ServiceError | undefined;
  /** The HTTP status of a refusal that an earlier run received, because of which this run requested nothing. */
  readonly remembered: number | undefined;
}

/**
 * Reports the tables that the service refuses. If the service has never offered a table to the key but offers another
 * one, this is not a failure: the refusal is remembered, so that runs of the next days do not request the table again.
 * If the table was offered before, or all tables are refused, it is a failure, because the lake then lacks data.
 */
export function reportRefusals(run: Run, outcomes: readonly TableOutcome[]): void {
  const { limits } = run.context;
  const isOneAnswered = outcomes.some(({ isAnswered }) => isAnswered);
  const isOneOffered = isOneAnswered || outcomes.some(({ isNew }) => !isNew);
  for (const { name, symbols, isNew, isAnswered, refusal, remembered } of outcomes) {
    if (remembered !== undefined) {
      const reason =
        `an earlier run was refused it with status ${remembered}; it is requested again a week after that, ` +
        "or by the next run once the service's file in limits/ of the lake is deleted";
      if (isOneOffered) run.log.notOffered(name, reason);
      else run.log.forbid(name, reason);
    } else if (refusal !== undefined && isNew && !isAnswered && isOneOffered) {
      run.log.notOffered(name, refusal.message);
      if (isOneAnswered) limits.learnedRefusal(name, refusal.status);
    } else if (refusal?.status === 404 && isNew) {
      // This is also a failure if a response was received before the refusal: the rest of the table was not requested.
      run.log.failure({ dataset: name, request: name, reason: refusal.message, symbols });
    }
  }
}
