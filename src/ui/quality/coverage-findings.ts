import { groupBy } from "../../core/group-by.js";
import { compareText, shellWord } from "../../core/text-order.js";
import type { Clock } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { type MissingStretch, missingStretches } from "../../plan/coverage.js";
import { monthFacts, PERIODS_OF_LEDGER } from "../lake/coverage-report.js";
import {
  type FindingReport,
  type FindingsReport,
  type ListPage,
  listPage,
  offsetOf,
  PAGE_ROWS,
  type RuleCount,
  type SubjectReport,
} from "./quality-data.js";
import { type QualityRule, UNEXPLAINED } from "./quality-rules.js";
import { type FindingsFilter, NO_REGION } from "./read-findings.js";

interface SymbolGaps {
  readonly symbol: string;
  readonly region: string;
  readonly stretches: readonly (MissingStretch & { readonly dataset: string })[];
}

/** The gaps of all symbols, by symbol; undefined where the ledger has no requests. */
export type LedgerGaps = ReadonlyMap<string, SymbolGaps> | undefined;

export async function ledgerGaps(parts: {
  readonly reader: Reader;
  readonly lake: Lake;
  readonly clock: Clock;
}): Promise<LedgerGaps> {
  const gaps = new Map<
    string,
    { symbol: string; region: string; stretches: SymbolGaps["stretches"][number][] }
  >();
  let hasAsked = false;
  for (const { period, dataset } of PERIODS_OF_LEDGER)
    for (const [region, facts] of await monthFacts(parts, period)) {
      hasAsked ||= facts.symbols.length > 0;
      for (const { symbol, stretches } of missingStretches(facts)) {
        const own = gaps.get(symbol) ?? { symbol, region, stretches: [] };
        gaps.set(symbol, own);
        for (const stretch of stretches) own.stretches.push({ ...stretch, dataset });
      }
    }
  return hasAsked ? gaps : undefined;
}

function stretchesOf(
  { stretches }: SymbolGaps,
  rule: Pick<QualityRule, "name">,
  { from = "", to = "" }: Pick<FindingsFilter, "from" | "to">,
): SymbolGaps["stretches"] {
  const isOpen = rule.name === UNEXPLAINED;
  return stretches.filter(
    (one) => one.isOpen === isOpen && (from === "" || one.last >= from) && (to === "" || one.first <= to),
  );
}

/** The subjects of a rule of the ledger, those that lack the most days first. */
function subjectsOf(
  gaps: NonNullable<LedgerGaps>,
  rule: Pick<QualityRule, "name">,
  filter: FindingsFilter,
): SubjectReport[] {
  const { region = "", symbol = "" } = filter;
  const subjects: SubjectReport[] = [];
  for (const one of gaps.values()) {
    if (region === NO_REGION || (region !== "" && one.region !== region)) continue;
    if (!one.symbol.toUpperCase().includes(symbol.toUpperCase())) continue;
    const own = stretchesOf(one, rule, filter);
    if (own.length === 0) continue;
    let [findings, first, last] = [0, own[0]?.first ?? "", ""];
    for (const stretch of own) {
      findings += stretch.days;
      if (stretch.first < first) first = stretch.first;
      if (stretch.last > last) last = stretch.last;
    }
    subjects.push({ subject: one.symbol, region: one.region, findings, first, last });
  }
  return subjects.sort((a, b) => b.findings - a.findings || compareText(a.subject, b.subject));
}

export function countGaps(gaps: LedgerGaps, rule: Pick<QualityRule, "name">): RuleCount {
  if (gaps === undefined) return { counts: [], unknown: "imported" };
  const regions = groupBy(subjectsOf(gaps, rule, {}), ({ region }) => region);
  const counts = [...regions].map(([region, subjects]) => ({
    region,
    findings: subjects.reduce((sum, { findings }) => sum + findings, 0),
    subjects: subjects.length,
    first: subjects.map(({ first }) => first ?? "").sort()[0] ?? null,
    last:
      subjects
        .map(({ last }) => last ?? "")
        .sort()
        .at(-1) ?? null,
  }));
  return { counts: counts.sort((a, b) => b.findings - a.findings), unknown: null };
}

export function gapSubjects(
  gaps: NonNullable<LedgerGaps>,
  rule: Pick<QualityRule, "name">,
  filter: FindingsFilter,
  page: number,
): ListPage<SubjectReport> {
  const subjects = subjectsOf(gaps, rule, filter);
  const from = offsetOf(page);
  return listPage(subjects.slice(from, from + PAGE_ROWS), subjects.length, page);
}

/** A page of the stretches that one symbol lacks, the newest first. */
export function gapsOf(
  gaps: NonNullable<LedgerGaps>,
  rule: Pick<QualityRule, "name" | "evidence">,
  subject: string,
  filter: Pick<FindingsFilter, "from" | "to">,
  page: number,
  location: string,
): FindingsReport {
  const own = gaps.get(subject);
  const stretches = own === undefined ? [] : [...stretchesOf(own, rule, filter)];
  stretches.sort((a, b) => compareText(b.last, a.last) || compareText(a.dataset, b.dataset));
  const from = offsetOf(page);
  const lake = shellWord(location);
  const rows = stretches.slice(from, from + PAGE_ROWS).map(
    ({ dataset, first, last, days }): FindingReport => ({
      values: [dataset, first, last, days],
      dataset,
      evidence: rule.evidence(dataset),
      first,
      last,
      at: null,
      repairs: `npx barlake run ${dataset === "bars_1m" ? "minute" : "daily"} --repair --lake ${lake}`,
      explains: `npx barlake status --lake ${lake}`,
    }),
  );
  return {
    ...listPage(rows, stretches.length, page),
    columns: [
      { name: "dataset", unit: null },
      { name: "first_date", unit: null },
      { name: "last_date", unit: null },
      { name: "days", unit: "sessions" },
    ],
  };
}
