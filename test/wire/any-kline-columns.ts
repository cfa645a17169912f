import fc from "fast-check";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  OPTIONAL_COLUMNS,
} from "../../src/wire/kline-columns.js";

/** One bar as plain values; `undefined` is a null. */
export interface PlainBar extends Readonly<Partial<Record<DoubleColumn, number | undefined>>> {
  readonly timestamp: number;
  readonly volume: bigint;
}

export type PlainBars = Readonly<Record<string, readonly PlainBar[]>>;

/** Columns of plain bars; a double that a bar leaves out is null where it may be, else 0. */
export function columnsOf(bars: PlainBars): KlineColumns {
  const symbols = Object.keys(bars);
  const all = symbols.flatMap((symbol, index) => (bars[symbol] ?? []).map((bar) => ({ bar, index })));
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => {
      const fallback = OPTIONAL_COLUMNS.has(name) ? undefined : 0;
      const values = new Float64Array(all.length);
      const validity = new Uint8Array(Math.ceil(all.length / 8));
      let hasNull = false;
      for (let i = 0; i < all.length; i++) {
        const value = all[i]?.bar[name] ?? fallback;
        values[i] = value ?? Number.NaN;
        if (value === undefined) hasNull = true;
        else validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7));
      }
      return [name, { values, validity: hasNull ? validity : undefined }];
    }),
  ) as unknown as KlineColumns["doubles"];
  return {
    rows: all.length,
    symbols,
    symbolIndex: Int32Array.from(all, ({ index }) => index),
    timestamp: BigInt64Array.from(all, ({ bar }) => BigInt(bar.timestamp)),
    volume: BigInt64Array.from(all, ({ bar }) => bar.volume),
    doubles,
  };
}

/** The plain bars of columns: the inverse of {@link columnsOf}, but for defaults. */
export function barsOf(columns: KlineColumns): Record<string, PlainBar[]> {
  const bars: Record<string, PlainBar[]> = Object.fromEntries(columns.symbols.map((symbol) => [symbol, []]));
  for (let i = 0; i < columns.rows; i++) {
    const bar: Record<string, number | bigint | undefined> = {
      timestamp: Number(columns.timestamp[i]),
      volume: columns.volume[i],
    };
    for (const name of DOUBLE_COLUMNS) {
      const { values, validity } = columns.doubles[name];
      const present = validity === undefined || (((validity[i >> 3] as number) >> (i & 7)) & 1) === 1;
      bar[name] = present ? values[i] : undefined;
    }
    bars[columns.symbols[columns.symbolIndex[i] as number] as string]?.push(bar as unknown as PlainBar);
  }
  return bars;
}

/** Doubles of every size: prices, amounts, and what no market has. */
const anyDouble = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -10_000_000, max: 10_000_000 }).map((n) => n / 100) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      0,
      -0,
      5e-324,
      -5e-324,
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      0.1 + 0.2,
      1e15,
      1e21,
    ),
  },
);
const anyVolume = fc.oneof(
  fc.nat().map(BigInt),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(
    -(2n ** 63n),
    2n ** 63n - 1n,
    2n ** 53n,
    2n ** 53n + 1n,
    -(2n ** 53n) - 1n,
    0n,
    -1n,
    2n ** 32n,
    -(2n ** 32n),
  ),
);
const required = DOUBLE_COLUMNS.filter((name) => !OPTIONAL_COLUMNS.has(name));
const optional = DOUBLE_COLUMNS.filter((name) => OPTIONAL_COLUMNS.has(name));
const anyBar = fc.record({
  timestamp: fc.integer({ min: -2_000_000_000_000, max: 7_000_000_000_000 }),
  volume: anyVolume,
  ...Object.fromEntries(required.map((name) => [name, anyDouble])),
  ...Object.fromEntries(optional.map((name) => [name, fc.option(anyDouble, { nil: undefined })])),
}) as fc.Arbitrary<PlainBar>;

const anySymbol = fc.stringMatching(/^[A-Z0-9]{1,6}\.(SH|SZ|HK|US)$/);

/** Bars in the form that a decoded response has: sorted, without repeats, and some symbols without any. */
export const anyBars: fc.Arbitrary<PlainBars> = fc
  .uniqueArray(
    fc.tuple(anySymbol, fc.uniqueArray(anyBar, { selector: (bar) => bar.timestamp, maxLength: 12 })),
    {
      selector: ([symbol]) => symbol,
      maxLength: 5,
    },
  )
  .map((entries) =>
    Object.fromEntries(
      entries.map(([symbol, bars]) => [symbol, bars.toSorted((a, b) => a.timestamp - b.timestamp)]),
    ),
  );
