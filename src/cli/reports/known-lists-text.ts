import type { KnownList } from "../../jobs/ledger/known-lists.js";
import { count, paint, plural, table } from "../text/text.js";

/** Maximum number of lists that are named of those that are known since one day. */
const NAMED = 5;

/** Lists of one table and region that the lake knows since the same day. */
interface Group {
  readonly dataset: KnownList["dataset"];
  readonly region: string;
  readonly since: string;
  readonly lists: string[];
}

/** What a user does about symbols that left a list before the lake knew it. */
const ADVICE =
  "what left a list before that day is not in the lake; request such symbols by name, with --symbols";

/** The line of a run about lists whose first snapshot it took: since when they are known. Empty if there are none. */
export function newListLines(lists: readonly KnownList[]): string[] {
  if (lists.length === 0) return [];
  const lines = grouped(lists, ({ dataset, since }) => `${dataset} ${since}`).map(
    ({ dataset, since, lists: names }) =>
      `${dataset === "instruments" ? "instruments" : "members"} of ${some(names)} known since ${since}`,
  );
  return [...lines.map((line) => `${paint("yellow", "note:")} ${line}`), ADVICE];
}

/**
 * The line of a run about bars of a time before the lake knew the lists of their symbols:
 * symbols that had left the lists by then were not asked for. Nothing if there are none.
 *
 * @param start of the earliest requested window, epoch milliseconds.
 */
export function earlierBarsLines(
  dataset: string,
  start: number | undefined,
  lists: readonly KnownList[],
): string[] {
  const later = lists.filter(({ firstSeenAt }) => start !== undefined && start < firstSeenAt);
  if (later.length === 0) return [];
  const known = grouped(later, (one) => `${one.dataset} ${one.since}`).map(
    ({ dataset: listed, since, lists: names }) =>
      `${listed === "instruments" ? "instruments" : "members"} of ${some(names)} since ${since}`,
  );
  return [
    `${paint("yellow", "note:")} ${dataset}: the symbols are the ${known.join(", ")}; what left these lists before was not asked for; request such symbols by name, with --symbols`,
  ];
}

/** Since when the lake knows the lists, as a table. Nothing if there are none. */
export function knownListLines(lists: readonly KnownList[]): string[] {
  if (lists.length === 0) return [];
  const groups = grouped(lists, ({ dataset, region, since }) => `${dataset} ${region} ${since}`);
  const rows = groups.map(({ dataset, region, since, lists: names }) => [
    dataset,
    region,
    since,
    count(names.length),
    some(names),
  ]);
  return ["", table(["lists of symbols", "region", "known since", "number", "lists"], rows), ADVICE];
}

function grouped(lists: readonly KnownList[], keyOf: (list: KnownList) => string): Group[] {
  const groups = new Map<string, Group>();
  for (const one of lists) {
    const key = keyOf(one);
    const group = groups.get(key) ?? { ...one, lists: [] };
    group.lists.push(one.list);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function some(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${plural(names.length - NAMED, "other")}` : "";
  return `${names.slice(0, NAMED).join(", ")}${more}`;
}
