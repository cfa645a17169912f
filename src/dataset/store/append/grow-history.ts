import { visitRows } from "../../../arrow/scan/result-columns.js";
import { isPresent } from "../../../core/bits.js";
import { literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import type { ExRuleOf } from "../../../market/adjustment/ex-rule.js";
import { addChanges, firstFactors } from "../../cells/adjust-days.js";
import { DAY, KEY_SHAPE, KEYS_SQL, SYMBOL, takeFactors, VECTOR_ROWS } from "../../cells/factor-history.js";
import { emptyHistory, type SymbolHistory } from "../../cells/symbol-history.js";
import { symbolIndexes } from "../../cells/symbol-indexes.js";
import { NEVER, type PanelSymbol } from "../../panel/block.js";
import { type LakePanel, leastHistory } from "../../panel/lake-panel.js";

/** What is known of a dataset that gets more labels. */
export interface EarlierDataset {
  /** Number of its labels, the first ones of the new dataset. */
  readonly labels: number;
  readonly symbols: readonly string[];
  /** Of these symbols; undefined where it is not known. */
  readonly history: SymbolHistory | undefined;
}

/** The history of a dataset's symbols. */
export interface GrownHistory {
  readonly history: SymbolHistory;
  /** The last label with trades among those of the earlier dataset; -1 where there is none. */
  readonly lastBefore: Int32Array;
}

/** Number of symbols that a query names; for more it reads the bars of all between the first and the last. */
const NAMED = 200;

/**
 * The history of a dataset's symbols, from that of an earlier one and the bars of later days. Of symbols whose history is not
 * known, all bars are read.
 *
 * @param earlier a dataset of which the lake has changed no day.
 * @returns undefined where it does not follow, as a symbol has two bars on one date.
 */
export async function growHistory(
  session: Session,
  panel: LakePanel,
  { ruleOf, earlier }: { readonly ruleOf: ExRuleOf; readonly earlier: EarlierDataset },
): Promise<GrownHistory | undefined> {
  const { labels, symbols, spec } = panel;
  const known = new Map(earlier.history && earlier.symbols.map((symbol, index) => [symbol, index]));
  const added = symbols.filter(({ symbol }) => !known.has(symbol));
  const last = labels.days[earlier.labels - 1] as number;
  const end = labels.days[labels.count - 1] as number;
  for (const isSorted of [false, true]) {
    const history = emptyHistory(symbols.map(ruleOf));
    if (earlier.history) copyKnown(history, symbols, known, earlier.history);
    await countBefore(panel, history, added);
    const before = { symbols: added, end: last, isSorted };
    if (added.length > 0 && !(await read(session, panel, history, before))) continue;
    const lastBefore = history.last.slice();
    if (!(await read(session, panel, history, { symbols, after: last, end, isSorted }))) continue;
    // Where nothing is adjusted, the closes were read for the order of the days alone.
    const factors = spec.adjustment === "none" ? firstFactors(symbols.map(ruleOf)) : history.factors;
    return { history: { ...history, factors }, lastBefore };
  }
  return undefined;
}

/** Copies what is known of symbols to their places among all. */
function copyKnown(
  history: SymbolHistory,
  symbols: readonly PanelSymbol[],
  known: ReadonlyMap<string, number>,
  from: SymbolHistory,
): void {
  const { factors } = history;
  const places = new Int32Array(from.first.length).fill(-1);
  for (const [s, { symbol }] of symbols.entries()) {
    const was = known.get(symbol);
    if (was === undefined) continue;
    places[was] = s;
    for (const name of ["first", "last", "ripe", "bars"] as const)
      history[name][s] = from[name][was] as number;
    factors.lastDay[s] = from.factors.lastDay[was] as number;
    factors.lastClose[s] = from.factors.lastClose[was] as number;
    factors.factor[s] = from.factors.factor[was] as number;
  }
  addChanges(factors.changes, from.factors.changes, 0, from.first.length);
  for (let at = 0; at < factors.changes.symbol.length; at++)
    factors.changes.symbol[at] = places[factors.changes.symbol[at] as number] as number;
}

/** Counts the bars before the first label of symbols of which nothing is known. */
async function countBefore(
  panel: LakePanel,
  { ripe, bars }: SymbolHistory,
  added: readonly PanelSymbol[],
): Promise<void> {
  const least = leastHistory(panel.spec);
  if (least === 0 || added.length === 0) return;
  const isAdded = new Set(added);
  const before = await panel.barsBefore(0, panel.symbols.length);
  for (const [s, symbol] of panel.symbols.entries()) {
    if (!isAdded.has(symbol)) continue;
    bars[s] = Math.min(least, before[s] as number);
    ripe[s] = bars[s] === least ? 0 : NEVER;
  }
}

/** Some rows to read: of these symbols, after one day up to another one, inclusive. */
interface Reading {
  readonly symbols: readonly PanelSymbol[];
  readonly after?: number;
  readonly end: number;
  /** Whether they are sorted, because the order of the files is not sufficient. */
  readonly isSorted: boolean;
}

/** Adds rows to a history. @returns false where a symbol's days do not ascend: the history is then invalid. */
async function read(
  session: Session,
  { labels, symbols, spec }: LakePanel,
  { first, last, ripe, bars, factors: state }: SymbolHistory,
  reading: Reading,
): Promise<boolean> {
  const least = leastHistory(spec);
  const labelOfDay = new Map(Array.from(labels.days, (day, label) => [day, label]));
  const indexesOf = symbolIndexes(reading);
  const all = new Map(symbols.map(({ symbol }, s) => [symbol, s]));
  /** The place of each symbol that is read among all. */
  const places = Int32Array.from(reading.symbols, ({ symbol }) => all.get(symbol) as number);
  const [indexes, factors] = [new Int32Array(VECTOR_ROWS), new Float64Array(VECTOR_ROWS)];
  let isInOrder = true;
  const result = await session.stream(rowsSql(reading));
  await visitRows(result, { ...KEY_SHAPE, traded: "boolean" }, (rows) => {
    if (!isInOrder) return;
    indexesOf(rows.texts(SYMBOL), indexes);
    for (let row = 0; row < rows.rows; row++) {
      const index = indexes[row] as number;
      if (index >= 0) indexes[row] = places[index] as number;
    }
    isInOrder = takeFactors(rows, indexes, state, factors);
    if (!isInOrder) return;
    const [day, traded, isKnown] = [
      rows.values(DAY, "date"),
      rows.values(TRADED, "boolean"),
      rows.validity(TRADED),
    ];
    for (let row = 0; row < rows.rows; row++) {
      const s = indexes[row] as number;
      if (s < 0 || traded[row] !== 1 || !isPresent(isKnown, row)) continue;
      const label = labelOfDay.get(day[row] as number);
      if (label === undefined) continue;
      if ((first[s] as number) < 0) first[s] = label;
      last[s] = label;
      if ((bars[s] as number) >= least) continue;
      bars[s] = (bars[s] as number) + 1;
      if (bars[s] === least) ripe[s] = label;
    }
  });
  return isInOrder;
}

const TRADED = 4;

function rowsSql({ symbols, after, end, isSorted }: Reading): string {
  const names = symbols.map(({ symbol }) => symbol);
  const [low, high] = [names[0] ?? "", names.at(-1) ?? ""];
  return `SELECT ${KEYS_SQL}, (is_final AND volume > 0) AS traded FROM raw.bars_1d
    WHERE symbol >= ${literal(low)} AND symbol <= ${literal(high)}
      ${names.length > NAMED ? "" : `AND symbol IN (${names.map(literal).join(", ")})`}
      AND trade_date <= DATE '1970-01-01' + ${end} ${after === undefined ? "" : `AND trade_date > DATE '1970-01-01' + ${after}`}
    ${isSorted ? "ORDER BY symbol, trade_date" : ""}`;
}
