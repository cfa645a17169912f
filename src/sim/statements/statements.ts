import { dateOfEpochDay, epochDay, type TradingDate } from "../../core/time.js";
import type { StatementRecord } from "../../wire/resources.js";
import type { SimInstrument } from "../instrument.js";
import { instrumentsOf, isListed, type MarketState } from "../market-state.js";
import { integer, mix, uniform } from "../random.js";
import { companyAccounts, type QuarterAccounts, restate, yearOf } from "./accounts.js";

/** The statements that the interface offers. */
export type StatementKind = "balance_sheet" | "cash_flow";

/** One version of a statement, and the date from which the service returns it. */
export interface StatementVersion {
  readonly symbol: string;
  readonly record: StatementRecord;
  readonly firstSeen: TradingDate;
}

/** Days before the history whose quarters are known at its start. */
const LEAD_DAYS = 550;
/** Days from a period's end to its announcement. */
const ANNOUNCE_DAYS = [20, 100] as const;
/** Part of the statements without an announce_date from the service. */
const NULL_ANNOUNCE = 0.06;
/** Part of the statements that are corrected later. */
const RESTATED = 0.06;

/** Every version of the statements of some symbols, by symbol, then period end, then first seen. */
export function listVersions(
  state: MarketState,
  kind: StatementKind,
  symbols: readonly string[],
): StatementVersion[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => versionsOf(state, kind, instrument));
}

/** The service's response on a date: by symbol, the newest version of each period; ascending by period end. */
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
  for (const accounts of companyAccounts(instrument, ...years)) {
    if (instrument.region === "HK" && accounts.quarter % 2 === 1) continue;
    for (const version of announce(kind, instrument, accounts)) {
      if (version.firstSeen <= state.spec.end && isListed(instrument, version.firstSeen))
        versions.push(version);
    }
  }
  return versions;
}

/** The first version of a statement and, for a few, a corrected version that later replaces it. */
function announce(
  kind: StatementKind,
  { key: instrumentKey, symbol }: SimInstrument,
  accounts: QuarterAccounts,
): StatementVersion[] {
  const end = epochDay(accounts.periodEnd);
  const key = mix(mix(instrumentKey, 70), end);
  const [least, most] = ANNOUNCE_DAYS;
  const day = end + least + integer(key, 0, most - least + 1);
  const isAnnounced = uniform(key, 1) >= NULL_ANNOUNCE;
  const first = {
    symbol,
    record: recordOf(kind, accounts, isAnnounced ? day : null),
    firstSeen: dateOfEpochDay(day),
  };
  if (uniform(key, 2) >= RESTATED) return [first];
  const later = day + 30 + integer(key, 3, 250);
  const record = recordOf(kind, restate(accounts, key), later);
  return [first, { symbol, record, firstSeen: dateOfEpochDay(later) }];
}

function recordOf(
  kind: StatementKind,
  accounts: QuarterAccounts,
  announceDay: number | null,
): StatementRecord {
  return {
    period_end: accounts.periodEnd,
    announce_date: announceDay === null ? null : dateOfEpochDay(announceDay),
    ...(kind === "balance_sheet" ? accounts.balanceSheet : accounts.cashFlow),
  };
}
