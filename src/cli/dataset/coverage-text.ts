import { type Coverage, type CoverageRange, isWhole, lowestCoverage } from "../../dataset/panel/coverage.js";
import type { DatasetSpec } from "../../dataset/spec.js";
import { basePeriod } from "../../market/period.js";
import { count, paint, plural, table } from "../text/text.js";

/** Number of members that are named. */
const NAMED = 3;
/** The pipelines that request bars of named symbols. */
const PIPELINES = { "1d": "daily", "1m": "minute" } as const;

/**
 * Of how many members a dataset has bars, as lines: one where all have some on each date, else a table by year, the members
 * without, and how to get their bars.
 *
 * @param all where all of these members are listed.
 */
export function coverageLines(
  coverage: Coverage | undefined,
  period: DatasetSpec["period"],
  all: string,
): string[] {
  if (coverage === undefined) return [];
  const { ranges, recordedFrom, unrecorded } = coverage;
  if (isWhole(coverage))
    return [`${paint("dim", "members")} ${numbersText(ranges)} on each date, with bars of all of them`];
  if (recordedFrom === null)
    return [`${paint("dim", "members")} on no date on record: those of later are assumed`];
  const rows = [...byYear(ranges)].map(([year, of]) => {
    const lowest = lowestCoverage(of);
    const isAll = lowest === undefined || lowest.withoutBars === 0;
    return [
      year,
      numbersText(of),
      isAll
        ? "all"
        : `${shareText(lowest)}: ${count(lowest.withBars)} of ${count(lowest.members)} on ${lowest.first}`,
    ];
  });
  return [
    table(
      ["year", "members", "with bars, at least"],
      [...(unrecorded > 0 ? [[`before ${recordedFrom}`, "not on record", ""]] : []), ...rows],
    ),
    ...missingLines(coverage, period, all),
    "",
  ];
}

function missingLines({ noBars, someBars }: Coverage, period: DatasetSpec["period"], all: string): string[] {
  const lines: string[] = [];
  if (noBars.length > 0) {
    const names = noBars
      .slice(0, NAMED)
      .map(({ symbol, membership }) => `${symbol} (${membership.map(spellText).join(", ")})`);
    lines.push(`without any bar: ${plural(noBars.length, "member")}, ${someOf(names, noBars.length)}`);
  }
  if (someBars.length > 0) {
    const names = someBars
      .toSorted((a, b) => b.without - a.without)
      .slice(0, NAMED)
      .map(
        ({ symbol, dates, without, first, last }) =>
          `${symbol} on ${count(without)} of ${count(dates)} dates, ${first} to ${last}`,
      );
    lines.push(`without some bars: ${plural(someBars.length, "member")}, ${someOf(names, someBars.length)}`);
  }
  const missing = [...noBars, ...someBars];
  if (missing.length === 0) return [];
  const [first] = missing.map((one) => one.first).sort();
  const symbols = missing.slice(0, NAMED).map(({ symbol }) => symbol);
  const more = missing.length > NAMED ? ",..." : "";
  const base = basePeriod(period);
  lines.push(
    `all of them: ${all}`,
    `get them: barlake run ${PIPELINES[base]} --symbols ${symbols.join(",")}${more} --from ${first}`,
    `where the service knows them no more: barlake import bars_${base} FILES`,
  );
  return lines;
}

function spellText({ from, to }: { readonly from: string | null; readonly to: string | null }): string {
  return `${from ?? ""} to ${to ?? "now"}`;
}

function someOf(names: readonly string[], of: number): string {
  return `${names.join(", ")}${of > names.length ? ` and ${count(of - names.length)} more` : ""}`;
}

function byYear(ranges: readonly CoverageRange[]): Map<string, CoverageRange[]> {
  const years = new Map<string, CoverageRange[]>();
  for (const range of ranges) {
    const year = range.first.slice(0, 4);
    years.set(year, [...(years.get(year) ?? []), range]);
  }
  return years;
}

function numbersText(ranges: readonly CoverageRange[]): string {
  const members = ranges.map((range) => range.members);
  const [least, most] = [Math.min(...members), Math.max(...members)];
  return least === most ? count(least) : `${count(least)} to ${count(most)}`;
}

/** A share that is not whole is not rounded to a whole. */
function shareText({ withBars, members }: CoverageRange): string {
  return `${(Math.floor((withBars / members) * 1000) / 10).toFixed(1)} %`;
}
