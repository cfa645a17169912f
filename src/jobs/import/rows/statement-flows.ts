import { groupBy } from "../../../core/group-by.js";
import { ident, literal } from "../../../db/quote.js";
import { TempTable } from "../../../db/session/session.js";
import type { FileVerdict, ImportWork } from "../table-import.js";
import { itemKind } from "./statements.js";

type FlowKind = "cumulative" | "discrete" | "mixed" | "unknown";

export interface Flow {
  /** Months from year 0 to the period's end. */
  readonly month: number;
  readonly value: number;
}

/** Fewest quarters in a row from which a kind is concluded. */
const FEW_QUARTERS = 5;

/**
 * Judges whether quarterly flows are of the quarter alone, or of the fiscal year so far: a flow that cumulates falls once a
 * year, at the same quarter, and rises three times; flows of quarters stay near each other. A year in place of its
 * last quarter is `mixed`.
 *
 * @param flows of one company, one a period, in the order of time.
 */
export function flowKind(flows: readonly Flow[]): FlowKind {
  const steps: { readonly phase: number; readonly ratio: number }[] = [];
  for (let i = 1; i < flows.length; i++) {
    const [before, after] = [flows[i - 1] as Flow, flows[i] as Flow];
    if (after.month - before.month !== 3 || before.value <= 0 || after.value <= 0) continue;
    steps.push({ phase: after.month % 12, ratio: after.value / before.value });
  }
  if (steps.length < FEW_QUARTERS - 1) return "unknown";
  const phases = [...new Set(steps.map(({ phase }) => phase))];
  const at = (phase: number): number[] =>
    steps.filter((one) => one.phase === phase).map(({ ratio }) => ratio);
  const others = (phase: number): number[] =>
    steps.filter((one) => one.phase !== phase).map(({ ratio }) => ratio);
  for (const phase of phases) {
    if (at(phase).every((ratio) => ratio < 0.65) && others(phase).every((ratio) => ratio > 1.1))
      return "cumulative";
  }
  if (steps.every(({ ratio }) => ratio > 0.4 && ratio < 2.5)) return "discrete";
  for (const phase of phases) {
    const next = (phase + 3) % 12;
    const rest = steps.filter((one) => one.phase !== phase && one.phase !== next).map(({ ratio }) => ratio);
    const isYear = at(phase).every((ratio) => ratio > 2.5) && at(next).every((ratio) => ratio < 0.5);
    if (isYear && at(phase).length > 0 && rest.every((ratio) => ratio > 0.4 && ratio < 2.5)) return "mixed";
  }
  return "unknown";
}

/** Items by which companies are judged, the clearest first. */
const CLEAR_FLOWS = [
  "revenue",
  "net_income_attributable",
  "net_income",
  "operating_cost",
  "net_operating_cash_flow",
  "net_cash_change",
];
/** Other items by which companies are judged where a file has none of these. */
const MOST_OTHERS = 5;

interface CompanyFlows {
  readonly file: number;
  readonly symbol: string;
  readonly region: string;
  readonly flows: readonly Flow[];
  readonly kind: FlowKind;
}

/** A share of the companies of a region from which all of the region is judged. */
const SOME = 0.1;

/**
 * Judges whether the flows of files cumulate: each company of each file, and the companies of a region together.
 * Companies of mainland China must report so. Rows that show another form are set aside, and files in which no region
 * cumulates are refused. What the user says counts, with a remark where companies show otherwise.
 */
export async function judgeFlows(
  work: ImportWork,
  judged: TempTable,
  verdicts: Map<number, FileVerdict>,
  numbers: readonly string[],
): Promise<void> {
  const { values } = work.options;
  const companies = await companyFlows(work, judged, numbers);
  const aside: string[] = [];
  for (const [file, own] of groupBy(companies, (one) => one.file)) {
    const verdict = verdicts.get(file);
    if (verdict === undefined) continue;
    if (values !== undefined) {
      // A year that is added up as if it were its last quarter is wrong, whatever the user says.
      const mixed = values === "discrete" ? own.filter(({ kind }) => kind === "mixed") : [];
      for (const one of mixed) {
        const reason = `${looksLike(one)}: subtract the three quarters from each year first`;
        aside.push(`WHEN file = ${file} AND symbol = ${literal(one.symbol)} THEN ${literal(reason)}`);
      }
      const other = own.filter(
        (one) => !mixed.includes(one) && one.kind !== "unknown" && one.kind !== values,
      );
      const remarks = other.length > 0 ? [otherwise(other, values)] : [];
      verdicts.set(file, { ...verdict, remarks: [...verdict.remarks, ...remarks] });
      continue;
    }
    const regions = [...groupBy(own, (one) => one.region)].map(([region, some]) => ({
      region,
      some,
      refusal: regionRefusal(some),
    }));
    if (regions.every(({ refusal }) => refusal !== undefined)) {
      verdicts.set(file, { ...verdict, refusal: verdict.refusal ?? regions[0]?.refusal });
      continue;
    }
    const shown = own.filter(({ kind }) => kind === "cumulative").length;
    const found =
      shown > 0 ? [`flows cumulate over the fiscal year (${shown} of ${own.length} companies show it)`] : [];
    verdicts.set(file, { ...verdict, found: [...verdict.found, ...found] });
    for (const { region, some, refusal } of regions) {
      if (refusal !== undefined) {
        const reason = `${refusal.reason} (the companies of ${region} in its file are judged together): import them in a file of their own, with \`values: "discrete"\` or \`values: "cumulative"\``;
        aside.push(`WHEN file = ${file} AND region = ${literal(region)} THEN ${literal(reason)}`);
      } else
        for (const one of some.filter(isOther)) {
          const reason = `${looksLike(one)}, and those of other companies of its file cumulate: \`values: "discrete"\` is for files of quarters alone`;
          aside.push(`WHEN file = ${file} AND symbol = ${literal(one.symbol)} THEN ${literal(reason)}`);
        }
    }
  }
  if (aside.length > 0)
    await work.session.run(`UPDATE ${judged.name} SET verdict = ['out_of_range', reason] FROM (
        SELECT "row" AS r, CASE ${aside.join(" ")} END AS reason FROM ${judged.name} WHERE verdict IS NULL)
      WHERE "row" = r AND reason IS NOT NULL`);
}

const isOther = ({ kind }: CompanyFlows): boolean => kind === "discrete" || kind === "mixed";

const formOf = (kind: FlowKind): string => {
  switch (kind) {
    case "mixed":
      return "quarters alone and of whole years in turn";
    case "discrete":
      return "quarters alone";
    case "cumulative":
    case "unknown":
      return "the fiscal year so far";
  }
};

const shownValues = ({ symbol, flows }: CompanyFlows): string =>
  `${symbol}: ${flows
    .slice(0, 4)
    .map(({ value }) => value)
    .join(", ")}`;

const looksLike = (one: CompanyFlows): string =>
  `its flows look like those of ${formOf(one.kind)} (${shownValues(one)})`;

function otherwise(other: readonly CompanyFlows[], values: string): string {
  const one = other[0] as CompanyFlows;
  const more = other.length > 1 ? ` and of ${other.length - 1} more` : "";
  return `the flows of ${one.symbol}${more} look like those of ${formOf(one.kind)} (${shownValues(one)}); they were read as \`values: "${values}"\``;
}

/** Why the companies of a region in a file cannot be read without the user's word. */
function regionRefusal(companies: readonly CompanyFlows[]): FileVerdict["refusal"] {
  const wrong = companies.filter(isOther);
  const cumulative = companies.filter(({ kind }) => kind === "cumulative").length;
  const example = wrong[0];
  if (example !== undefined && wrong.length >= (wrong.length + cumulative) * SOME) {
    const isMixed = wrong.filter(({ kind }) => kind === "mixed").length * 2 > wrong.length;
    const form = formOf(isMixed ? "mixed" : "discrete");
    return {
      reason: `its flows look like those of ${form} (${shownValues(example)}), and the lake's are of the fiscal year so far`,
      hint:
        cumulative > 0
          ? `those of ${cumulative} other companies cumulate: import a file of each form, with \`values: "discrete"\` for quarters alone`
          : isMixed
            ? 'subtract the three quarters from each year and add `values: "discrete"`; `values: "cumulative"` takes them as they are'
            : '`values: "discrete"` adds up the quarters of each year; `values: "cumulative"` takes them as they are',
    };
  }
  const open = companies.find(
    ({ kind, region, flows }) =>
      kind === "unknown" &&
      region !== "CN" &&
      flows.some((one, i) => i > 0 && one.month - (flows[i - 1] as Flow).month === 3),
  );
  if (open === undefined || cumulative > 0) return undefined;
  return {
    reason: `it does not show whether its flows (of ${open.symbol}, for example) are of quarters alone or of the fiscal year so far`,
    hint: 'add `values: "discrete"` or `values: "cumulative"`',
  };
}

/** The flows of each company of each file. A company that a file does not show is judged by all files. */
async function companyFlows(
  { session }: ImportWork,
  judged: TempTable,
  numbers: readonly string[],
): Promise<CompanyFlows[]> {
  const clear = CLEAR_FLOWS.filter((name) => numbers.includes(name));
  const others = numbers.filter((name) => !clear.includes(name) && itemKind(name) === "flow");
  const given = await givenNumbers({ session }, judged, [...clear, ...others]);
  const items = given.some((name) => clear.includes(name))
    ? given.filter((name) => clear.includes(name))
    : given.slice(0, MOST_OTHERS);
  if (items.length === 0) return [];
  const rows = await session.json<Record<string, number | string | null>>(
    `SELECT file, symbol, any_value(region) AS region, month, ${items.map((name, i) => `arg_max(${ident(name)}, "row") AS v${i}`).join(", ")} FROM (
       SELECT *, (year(period_end + 10) * 12 + month(period_end + 10) - 2)::DOUBLE AS month
       FROM ${judged.name} WHERE verdict IS NULL) GROUP BY file, symbol, month ORDER BY file, symbol, month`,
  );
  const bySymbol = groupBy(rows, ({ symbol }) => symbol as string);
  return [...bySymbol].flatMap(([symbol, all]) => {
    const whole = flowKind(flowsOf(all, items));
    return [...groupBy(all, ({ file }) => file as number)].flatMap(([file, own]) => {
      const flows = flowsOf(own, items);
      if (flows.length === 0) return [];
      const kind = flowKind(flows);
      return [
        { file, symbol, region: own[0]?.region as string, flows, kind: kind === "unknown" ? whole : kind },
      ];
    });
  });
}

async function givenNumbers(
  { session }: Pick<ImportWork, "session">,
  judged: TempTable,
  names: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return [];
  const [row] = await session.json<Record<string, boolean>>(
    `SELECT ${names.map((name, i) => `count(${ident(name)}) > 0 AS n${i}`).join(", ")} FROM ${judged.name} WHERE verdict IS NULL`,
  );
  return names.filter((_, i) => row?.[`n${i}`] === true);
}

/** The flows of the item that has most values. Two items in one row of flows would show steps that none of them has. */
function flowsOf(
  rows: readonly Readonly<Record<string, number | string | null>>[],
  items: readonly string[],
): Flow[] {
  let best: Flow[] = [];
  for (const i of items.keys()) {
    const months = new Map<number, number>();
    for (const row of rows) {
      const value = row[`v${i}`];
      if (typeof value === "number") months.set(row.month as number, value);
    }
    if (months.size > best.length)
      best = [...months].map(([month, value]) => ({ month, value })).sort((a, b) => a.month - b.month);
  }
  return best;
}

/**
 * Adds up the flows of quarters from January. A quarter whose year lacks an earlier one is set aside; an item is null from
 * the first quarter on in which it has no value, with a remark, and so are all items that are not known to be flows.
 */
export async function addUpQuarters(
  { session }: ImportWork,
  judged: TempTable,
  verdicts: Map<number, FileVerdict>,
  numbers: readonly string[],
): Promise<void> {
  const isLost = numbers
    .filter((name) => itemKind(name) === "flow")
    .map(
      (name) =>
        `(${ident(name)} IS NOT NULL AND count(${ident(name)}) OVER quarters < count(*) OVER quarters)`,
    );
  const summed = numbers.map((name) => {
    const item = ident(name);
    return itemKind(name) === "flow"
      ? `CASE WHEN count(${item}) OVER quarters = count(*) OVER quarters THEN sum(${item}) OVER quarters END AS ${item}`
      : `CAST(NULL AS DOUBLE) AS ${item}`;
  });
  const at = "(period_end + 10 - INTERVAL 1 MONTH)";
  const quarter = `((month(${at}) + 2) // 3)`;
  await using before = new TempTable(session, "discrete_statements");
  await before.fill(`SELECT * FROM ${judged.name}`);
  const quarters = `WINDOW quarters AS (PARTITION BY symbol, verdict IS NULL, year(${at}) ORDER BY period_end)`;
  const lost = await session.json<{ file: number; n: number }>(
    `SELECT file, count(*)::DOUBLE AS n FROM (SELECT file, verdict, ${isLost.join(" OR ") || "false"} AS lost FROM ${before.name} ${quarters})
     WHERE lost AND verdict IS NULL GROUP BY file`,
  );
  for (const { file, n } of lost) {
    const verdict = verdicts.get(file);
    const remark = `${n} ${n === 1 ? "row has" : "rows have"} items without a sum, as they are empty in an earlier quarter of the year`;
    if (verdict !== undefined) verdicts.set(file, { ...verdict, remarks: [...verdict.remarks, remark] });
  }
  await judged.fill(`SELECT * REPLACE (${summed.join(", ")},
      CASE WHEN verdict IS NOT NULL THEN verdict
        WHEN count(*) OVER quarters <> ${quarter} OR bit_or(1 << (${quarter} - 1)) OVER quarters <> (1 << ${quarter}) - 1
        THEN ['null_in_required', 'an earlier quarter of the year is missing, or repeated: quarters are added up from January'] END AS verdict)
    FROM ${before.name}
    ${quarters}`);
}
