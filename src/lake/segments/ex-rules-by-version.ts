import type { ExRuleOf } from "../../market/ex-rule.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../schema/actions.js";
import { ABSENCES_1D, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import type { Snapshot } from "../log/snapshot.js";

/** The tables from which ex-events follow, in addition to daily bars. */
export const EX_RULE_TABLES: readonly TableSchema[] = [
  TRADING_DAYS,
  ABSENCES_1D,
  CORPORATE_ACTIONS,
  EX_FACTORS,
];

/** The rules of the versions of {@link EX_RULE_TABLES} that were read last. A failed read is not kept. */
export class ExRulesByVersion<State> {
  readonly #read: (state: State) => Promise<ExRuleOf>;
  #known: { readonly snapshots: readonly Snapshot[]; readonly rules: Promise<ExRuleOf> } | undefined;

  /** @param read reads the rules of a state. */
  constructor(read: (state: State) => Promise<ExRuleOf>) {
    this.#read = read;
  }

  /** The rules of a state that has these versions, in the order of the tables. */
  of(snapshots: readonly Snapshot[], state: State): Promise<ExRuleOf> {
    const isSame = this.#known?.snapshots.every((one, at) => one === snapshots[at]) === true;
    if (this.#known !== undefined && isSame) return this.#known.rules;
    const known = { snapshots, rules: this.#read(state) };
    this.#known = known;
    known.rules.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return known.rules;
  }
}
