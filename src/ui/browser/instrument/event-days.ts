import type { ActionReport, ExEventReport, InstrumentReport } from "../../page-data.js";
import { price } from "../formats.js";
import { isChinese, text } from "../texts.js";

/** What is known of an ex-date: corporate actions, the ex-event by which prices are adjusted, or both. */
export interface EventDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly actions: readonly ActionReport[];
  readonly event: ExEventReport | undefined;
}

/** The ex-dates of an instrument in order, with what each source says of them. */
export function eventDays({ exEvents, actions }: Pick<InstrumentReport, "exEvents" | "actions">): EventDay[] {
  const days = new Map<string, { actions: ActionReport[]; event: ExEventReport | undefined }>();
  const of = (day: string) => {
    const found = days.get(day) ?? { actions: [], event: undefined };
    days.set(day, found);
    return found;
  };
  for (const event of exEvents) of(event.day).event = event;
  for (const action of actions) of(action.day).actions.push(action);
  return [...days]
    .map(([day, known]) => ({ day, ...known }))
    .sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
}

/** Letters of actions in a chart: cash, shares, rights; all others are events (E). */
const LETTERS: Readonly<Record<ActionReport["kind"], string>> = {
  cash_dividend: "D",
  stock_dividend: "S",
  split: "S",
  consolidation: "S",
  rights: "R",
  spin_off: "E",
  other: "E",
};

/** The letters of ex-dates, each once: "D", "DS". */
export function lettersOf(days: readonly EventDay[]): string {
  const letters = days.flatMap(({ actions }) => actions.map(({ kind }) => LETTERS[kind]));
  return letters.length === 0 ? "E" : [...new Set(letters)].sort().join("");
}

/** An action in words: "Dividend 0.82 USD", "Split 4 for 1", "Rights 3 for 10 at 8.5 CNY". */
export function actionText({ kind, cash, ratio, price: paid, currency }: ActionReport): string {
  const money = (value: number): string => [amountText(value), currency].filter(Boolean).join(" ");
  const parts = [
    text(kind),
    ratio === null ? undefined : isChinese ? chineseRatio(kind, ratio) : ratioText(ratio),
    paid === null ? undefined : `${isChinese ? "每股" : "at"} ${money(paid)}`,
    cash === null ? undefined : money(cash),
  ];
  return parts.filter((part) => part !== undefined).join(" ");
}

/** How the ex-event of a day is known, or that it is none; undefined where the day's actions say it. */
export function witnessText({ actions, event }: EventDay): string | undefined {
  if (event === undefined) return text("noFactor");
  const { witness, source, lastClose, prevClose } = event;
  if (witness === "prev_close")
    return actions.length > 0 || prevClose === null
      ? text("byPrevClose")
      : `${text("restated")} ${price(lastClose)} → ${price(prevClose)}`;
  const isSaid = actions.length > 0 && actions.every((action) => action.source === source);
  if (witness === "actions" && isSaid) return undefined;
  return [text(witness === "factor" ? "byFactor" : "byActions"), source].filter(Boolean).join(" ");
}

export function factorText(factor: number): string {
  return factor.toFixed(factor < 10 ? 4 : 2);
}

/** Largest number of held shares in a ratio of whole shares. */
const MOST_HELD = 40;
/** Relative difference up to which a ratio counts as one of whole shares: sources have seven digits. */
const NEARLY = 1e-6;

/** New shares for held ones: "4 for 1", "1 for 10", "3 for 2"; "0.370949 for 1" where they are no whole shares. */
function ratioText(ratio: number): string {
  const [fresh, held] = wholeShares(ratio) ?? [amountText(ratio), 1];
  return `${fresh} for ${held}`;
}

/** Splits as 1拆4 and consolidations as 10并1; other shares for ten held ones, as announcements have them: 10送3. */
function chineseRatio(kind: ActionReport["kind"], ratio: number): string {
  const verb = { stock_dividend: "送", rights: "配" }[kind as string];
  if (verb !== undefined) return `10${verb}${amountText(ratio * 10)}`;
  const [fresh, held] = wholeShares(ratio) ?? [amountText(ratio), 1];
  return `${held}${{ split: "拆", consolidation: "并" }[kind as string] ?? "得"}${fresh}`;
}

function wholeShares(ratio: number): readonly [fresh: number, held: number] | undefined {
  for (let held = 1; held <= MOST_HELD; held++) {
    const fresh = Math.round(ratio * held);
    if (fresh > 0 && Math.abs(fresh / held / ratio - 1) < NEARLY) return [fresh, held];
  }
  return undefined;
}

function amountText(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 6 });
}
