import { dateOfEpochDay, epochDay, type TradingDate } from "../../core/time.js";
import type { StatementName } from "../../schema/statements.js";
import type { StatementRecord } from "../../wire/resources.js";
import type { SimInstrument } from "../instrument.js";
import { instrumentsOf, isListed, type MarketState } from "../market-state.js";
import { integer, mix, uniform } from "../random.js";
import { sharesOf } from "../reference-data.js";
import { companyAccounts, type QuarterAccounts, restate, type StatementFields, yearOf } from "./accounts.js";
import { type MetricsParts, metricsOf, perShare } from "./metrics.js";

/** The statements that the interface offers. */
export type StatementKind = StatementName;

/** One version of a statement, and the date from which the service returns it. */
export interface StatementVersion {
  readonly symbol: string;
  readonly record: StatementRecord;
  readonly firstSeen: TradingDate;
}

/** Number of days before the history; quarters that end within them are known at its start. */
const LEAD_DAYS = 550;
/** Fewest and most days from the end of a period to its announcement. */
const ANNOUNCE_DAYS = [20, 100] as const;
/** Fraction of the statements for which the service has no announce_date. */
const NULL_ANNOUNCE = 0.06;
/** Fraction of the statements that are corrected later. */
const RESTATED = 0.06;

/** Every version of the statements of some symbols, ordered by symbol, then period end, then first seen. */
export function listVersions(
  state: MarketState,
  kind: StatementKind,
  symbols: readonly string[],
): StatementVersion[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => versionsOf(state, kind, instrument));
}

/** The response of the service on a date: by symbol, the newest version of each period, ascending by period end. */
export function latestVersions(
  state: MarketState,
  kind: StatementKind,
  symbols: readonly string[],
  knownBy: TradingDate,
): Map<string, StatementRecord[]> {
  const bySymbol = new Map<string, StatementRecord[]>();
  for (const { symbol, record, firstSeen } of listVersions(state, kind, symbols)) {
    if (firstSeen > knownBy) continue;
    const records = bySymbol.get(symbol) ?? [];
    if (records.at(-1)?.period_end === record.period_end) records.pop();
    records.push(record);
    bySymbol.set(symbol, records);
  }
  return bySymbol;
}

function versionsOf(state: MarketState, kind: StatementKind, instrument: SimInstrument): StatementVersion[] {
  if (instrument.type !== "stock") return [];
  const historyStart = state.calendars[instrument.region].epochDays[0] as number;
  const last = epochDay(state.spec.end);
  const years = [yearOf(historyStart - LEAD_DAYS), yearOf(last)] as const;
  const versions: StatementVersion[] = [];
  const all = companyAccounts(instrument, ...years);
  for (const [index, accounts] of all.entries()) {
    if (instrument.region === "HK" && accounts.quarter % 2 === 1) continue;
    const before = { yearAgo: all[index - 4], yearEnd: all[index - accounts.quarter] };
    const fieldsOf = (one: QuarterAccounts) =>
      fieldsOfKind(state, kind, instrument, { accounts: one, ...before });
    for (const version of announce(instrument, accounts, fieldsOf, kind !== "shares")) {
      if (version.firstSeen <= state.spec.end && isListed(instrument, version.firstSeen))
        versions.push(version);
    }
  }
  return versions;
}

/** The first version of a statement, and for a few statements a version that later replaces it. */
function announce(
  { key: instrumentKey, symbol }: SimInstrument,
  accounts: QuarterAccounts,
  fieldsOf: (accounts: QuarterAccounts) => StatementFields,
  isCorrectable: boolean,
): StatementVersion[] {
  const end = epochDay(accounts.periodEnd);
  const key = mix(mix(instrumentKey, 70), end);
  const [least, most] = ANNOUNCE_DAYS;
  const day = end + least + integer(key, 0, most - least + 1);
  const isAnnounced = uniform(key, 1) >= NULL_ANNOUNCE;
  const versionOf = (one: QuarterAccounts, firstDay: number, announced: boolean): StatementVersion => {
    const firstSeen = dateOfEpochDay(firstDay);
    const dates = { period_end: accounts.periodEnd, announce_date: announced ? firstSeen : null };
    return { symbol, record: { ...dates, ...fieldsOf(one) }, firstSeen };
  };
  const first = versionOf(accounts, day, isAnnounced);
  if (!isCorrectable || uniform(key, 2) >= RESTATED) return [first];
  return [first, versionOf(restate(accounts, key), day + 30 + integer(key, 3, 250), true)];
}

function fieldsOfKind(
  state: MarketState,
  kind: StatementKind,
  instrument: SimInstrument,
  parts: Omit<MetricsParts, "shares">,
): StatementFields {
  const { balanceSheet, cashFlow, income, periodEnd } = parts.accounts;
  if (kind === "balance_sheet") return balanceSheet;
  if (kind === "cash_flow") return cashFlow;
  const shares = sharesOf(state, instrument, periodEnd);
  if (kind === "shares") return shares;
  if (kind === "metrics") return metricsOf({ ...parts, shares: shares.total_shares });
  const eps = perShare(income.net_income_attributable, shares.total_shares);
  return { ...income, basic_eps: eps, diluted_eps: eps };
}
