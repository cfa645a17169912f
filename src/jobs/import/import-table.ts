import { STATEMENT_NAMES } from "../../schema/statements.js";

/** Tables that files can be imported into. */
export const IMPORTABLE = [
  "bars_1d",
  "bars_1m",
  "instruments",
  "universes",
  ...STATEMENT_NAMES,
  "corporate_actions",
  "ex_factors",
  "symbol_changes",
] as const;
/** A table that files can be imported into. */
export type ImportTable = (typeof IMPORTABLE)[number];
