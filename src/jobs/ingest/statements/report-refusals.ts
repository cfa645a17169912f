import type { ServiceError } from "../../../core/errors.js";
import type { StatementName } from "../../../schema/statements.js";
import type { Run } from "../../run/run.js";

/** How the requests for a table of statements ended. */
export interface TableOutcome {
  readonly name: StatementName;
  /** Number of symbols that were to be requested. */
  readonly symbols: number;
  /** Whether no earlier run has had a response. */
  readonly isNew: boolean;
  /** Whether this run has had a response. */
  readonly isAnswered: boolean;
  /** The refusal of the whole table, where one came. */
  readonly refusal: ServiceError | undefined;
  /** The status of a refusal that an earlier run had; this run has requested nothing. */
  readonly remembered: number | undefined;
}

/**
 * Reports the tables that the service refuses. A table that it has never offered to the key is no failure, as long as it
 * offers another table: the refusal is remembered, so that the runs of the next days do not request the table again. A
 * table that was offered before, or a refusal of all tables, is a failure: the lake lacks what it should have.
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
      // Also where a response came in addition to the refusal: the rest of the table was not requested.
      run.log.failure({ dataset: name, request: name, reason: refusal.message, symbols });
    }
  }
}
