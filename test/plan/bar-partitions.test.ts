import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS } from "../../src/core/time.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { regionOf } from "../../src/market/symbol.js";
import { calendarSpans } from "../../src/market/trading-calendar.js";
import { type BarsPlan, partitionBars } from "../../src/plan/bar-partitions.js";
import type { BarSegment } from "../../src/wire/bar-segment.js";
import { DOUBLE_COLUMNS, type DoubleColumn, type KlineColumns } from "../../src/wire/kline-columns.js";

const START = Date.UTC(2025, 0, 20, 7, 30);
const MONTHS = (region: Region) => calendarSpans(REGIONS[region].zone, "month");
const RULES = {
  unit: "month",
  finalEnd: { CN: START + 30 * DAY_MS, HK: START, US: START + 100 * DAY_MS },
  possibleEnd: { CN: START + 150 * DAY_MS, HK: START + 1e6 * DAY_MS, US: START + 60 * DAY_MS },
} as const;

/** A bar, by what is wrong with it. */
type Flaw = "none" | "idle" | "null open" | "infinite" | "crossed" | "negative";
const RULE_OF: Readonly<Record<Flaw, string | undefined>> = {
  none: undefined,
  idle: "no_trade",
  "null open": "null_in_required",
  infinite: "out_of_range",
  crossed: "high_below_low",
  negative: "out_of_range",
};
interface Bar {
  readonly days: number;
  readonly flaw: Flaw;
}

const SYMBOLS = ["600000.SH", "00700.HK", "AAPL.US", "ODD.XX"];

function columnsOf(bySymbol: readonly (readonly Bar[])[]): KlineColumns {
  const bars = bySymbol.flatMap((list, index) => {
    let at = START;
    return list.map((bar) => ({ ...bar, index, at: (at += bar.days * DAY_MS) }));
  });
  const rows = bars.length;
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => [
      name,
      { values: new Float64Array(rows).fill(1), validity: undefined as Uint8Array | undefined },
    ]),
  ) as Record<DoubleColumn, { values: Float64Array; validity: Uint8Array | undefined }>;
  const volume = new BigInt64Array(rows);
  if (bars.some(({ flaw }) => flaw === "null open"))
    doubles.open.validity = new Uint8Array(Math.ceil(rows / 8)).fill(0xff);
  for (const [row, { flaw }] of bars.entries()) {
    const bits = doubles.open.validity;
    if (flaw === "null open" && bits) bits[row >> 3] = (bits[row >> 3] as number) & ~(1 << (row & 7));
    if (flaw === "infinite") doubles.close.values[row] = Number.POSITIVE_INFINITY;
    if (flaw === "crossed") doubles.high.values[row] = 0.5;
    if (flaw === "negative") volume[row] = -1n;
    if (flaw === "idle") doubles.close.values[row] = 0;
    else if (flaw !== "negative") volume[row] = BigInt(row + 1);
  }
  return {
    rows,
    symbols: SYMBOLS,
    symbolIndex: Int32Array.from(bars, ({ index }) => index),
    timestamp: BigInt64Array.from(bars, ({ at }) => BigInt(at)),
    volume,
    doubles,
  };
}

function split(columns: KlineColumns): BarsPlan {
  return partitionBars([{ columns, source: "test" }], RULES);
}

const rowsOf = ({ start, end }: BarSegment): number[] =>
  Array.from({ length: end - start }, (_, k) => start + k);

const bar = fc.record({
  days: fc.integer({ min: 1, max: 20 }),
  flaw: fc.oneof(
    { weight: 6, arbitrary: fc.constant<Flaw>("none") },
    { weight: 1, arbitrary: fc.constantFrom<Flaw>("idle", "null open", "infinite", "crossed", "negative") },
  ),
});
const filteredBars = fc.tuple(...SYMBOLS.map(() => fc.array(bar, { maxLength: 12 })));

test("every bar is in one partition or rejected by its first broken rule, once, with its own month and finality", () => {
  fc.assert(
    fc.property(filteredBars, (bySymbol) => {
      const columns = columnsOf(bySymbol);
      const rules = bySymbol
        .flatMap((list, index) => list.map(({ flaw }) => ({ flaw, symbol: SYMBOLS[index] as string })))
        .map(({ flaw, symbol }, row) => {
          const region = regionOf(symbol);
          if (region === undefined) return "unknown_exchange";
          return Number(columns.timestamp[row]) < RULES.possibleEnd[region] ? RULE_OF[flaw] : "out_of_range";
        });
      const { partitions, rejected } = split(columns);
      const found = rejected.flatMap((segment) => rowsOf(segment).map((row) => [row, segment.rule] as const));
      expect(found.toSorted(([a], [b]) => a - b)).toEqual(
        rules.flatMap((rule, row) => (rule === undefined ? [] : [[row, rule]])),
      );
      const placed = partitions.flatMap(({ segments }) => segments.flatMap(rowsOf));
      expect(placed.toSorted((a, b) => a - b)).toEqual(
        rules.flatMap((rule, row) => (rule === undefined ? [row] : [])),
      );
      for (const { region, period, segments } of partitions)
        for (const segment of segments) {
          const { symbol, isFinal } = segment;
          expect(segment.region).toBe(region);
          for (const row of rowsOf(segment)) {
            const at = Number(columns.timestamp[row]);
            expect(symbol).toBe(SYMBOLS[columns.symbolIndex[row] as number]);
            expect(MONTHS(region)(at)).toEqual(period);
            expect(at < RULES.finalEnd[region]).toBe(isFinal);
          }
        }
    }),
  );
});

test("adjacent bars that belong together are one segment", () => {
  const { partitions, rejected } = split(
    columnsOf([Array.from({ length: 4 }, () => ({ days: 1, flaw: "none" as const })), [], [], []]),
  );
  expect(rejected).toEqual([]);
  expect(partitions.flatMap(({ segments }) => segments.map(rowsOf))).toEqual([[0, 1, 2, 3]]);
});

test("what breaks a rule in every bar of many is found without searching all of them each time", () => {
  const bars = Array.from({ length: 200_000 }, () => ({ days: 1, flaw: "null open" as const }));
  const columns = columnsOf([bars.slice(0, 1), [], [], []]);
  const rows = bars.length;
  const many: KlineColumns = {
    ...columns,
    rows,
    symbolIndex: new Int32Array(rows),
    timestamp: BigInt64Array.from(bars, (_, row) => BigInt(START + row * 60_000)),
    volume: new BigInt64Array(rows),
    doubles: Object.fromEntries(
      DOUBLE_COLUMNS.map((name) => [
        name,
        {
          values: new Float64Array(rows).fill(1),
          validity: name === "amount" ? new Uint8Array(rows / 8) : undefined,
        },
      ]),
    ) as KlineColumns["doubles"],
  };
  expect(split(many).rejected).toHaveLength(rows);
});

test("bars that do not ascend are refused with the symbol and the row", () => {
  const columns = columnsOf([
    [
      { days: 1, flaw: "none" },
      { days: 1, flaw: "none" },
    ],
    [],
    [],
    [],
  ]);
  columns.timestamp[1] = columns.timestamp[0] as bigint;
  expect(() => split(columns)).toThrow("bars of 600000.SH: do not ascend in time at row 1");
});

test.each([
  ["before and after 1970", -1n, 0n],
  ["before 1970", -(2n ** 32n) - 1n, -(2n ** 32n)],
  ["at a carry to the upper word", 2n ** 32n - 1n, 2n ** 32n],
  ["at the sign bit of the lower word", 2n ** 31n - 1n, 2n ** 31n],
])("times %s are compared as integers", (_name, first, second) => {
  const sound = { days: 1, flaw: "none" } as const;
  const columns = columnsOf([[sound, sound], [], [], []]);
  columns.timestamp.set([first, second]);
  expect(split(columns).rejected).toEqual([]);
  columns.timestamp.set([second, first]);
  expect(() => split(columns)).toThrow("do not ascend in time at row 1");
});

test("minutes of exchanges whose sessions are not known do not land, and their days do", () => {
  const columns = { ...columnsOf([[{ days: 1, flaw: "none" }]]), symbols: ["rb2405.SHF"] };
  const splitInto = (unit: "month" | "year") =>
    partitionBars([{ columns, source: "test" }], { ...RULES, unit });
  expect(splitInto("month")).toMatchObject({
    partitions: [],
    rejected: [{ symbol: "rb2405.SHF", rule: "unknown_sessions" }],
  });
  expect(splitInto("year")).toMatchObject({
    partitions: [{ segments: [{ symbol: "rb2405.SHF" }] }],
    rejected: [],
  });
});
