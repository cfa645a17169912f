import { UsageError } from "../../core/errors.js";
import type { Session } from "../../db/session/session.js";
import { type BarClock, findLookAhead } from "../panel/look-ahead.js";
import { settleWindows } from "../panel/settle-windows.js";
import { parseExpression } from "./expression-tree.js";
import { findChance } from "./reproducible.js";

/** A field's expression, as written in a spec. */
export interface WrittenExpression {
  readonly name: string;
  readonly sql: string;
  readonly looksAhead: boolean;
}

/**
 * Checks that an expression uses no later bars, unless it says so, and is reproducible.
 *
 * @returns its SQL with complete window definitions: see {@link settleWindows}.
 * @throws {UsageError} naming the field, the fault, and what to do.
 */
export async function checkExpression(
  session: Session,
  { name, sql, looksAhead }: WrittenExpression,
  clock: BarClock,
): Promise<string> {
  const subject = `field ${name}`;
  const root = await parseExpression(session, subject, sql);
  const ahead = looksAhead ? undefined : findLookAhead(root, clock);
  if (ahead !== undefined) {
    throw new UsageError(`${subject}: ${ahead}`, {
      hint: "a dataset has what was known on each date; a field that is meant to look ahead, such as a label to train on, needs looksAhead: true",
    });
  }
  const chance = await findChance(session, root, clock);
  if (chance !== undefined) {
    throw new UsageError(`${subject}: ${chance}`, {
      hint: "a dataset has the same bytes whenever it is built of the same versions",
    });
  }
  return settleWindows(sql, root, clock);
}
