import fc from "fast-check";
import type { KlineExpectation } from "../../src/wire/decode/kline-sink.js";
import { OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../../src/wire/kline-columns.js";
import { anyNumberText, anySpace, anyStringText, anyText } from "./any-json.js";

/** A text of a K-line response, and what was asked for. */
export interface KlineDocument {
  readonly text: string;
  readonly expectation: Pick<KlineExpectation, "shape" | "symbols" | "window">;
}

const SYMBOLS = ["600519.SH", "00700.HK", "AAPL.US", "BRK.B.US"];

const ALIKE_SYMBOLS = [
  ...SYMBOLS,
  ...Array.from({ length: 10 }, (_, k) => `${k}${600_000 + k * 77}.SH`),
  `${"LONG".repeat(7)}.US`,
  `${"LONGER".repeat(5)}.US`,
];

const anyPrice = fc.integer({ min: -100, max: 10_000_000 }).map((n) => String(n / 100));
const anyStamp = fc.nat(40).map((n) => String(1_700_000_000_000 + n * 60_000));
const oddCell = fc.oneof(
  anyNumberText,
  anyStringText,
  anyText,
  fc.constantFrom(
    "null",
    "true",
    "[]",
    "{}",
    "1.0",
    "1e2",
    "100.5",
    "-0",
    "9223372036854775807",
    "9223372036854775808",
  ),
);

/** Cells of a column, mostly such as belong there. */
function anyCells(column: string, length: number): fc.Arbitrary<string> {
  const plain = column === "timestamp" ? anyStamp : column === "volume" ? fc.nat().map(String) : anyPrice;
  const cell = fc.oneof(
    { weight: 300, arbitrary: plain },
    { weight: OPTIONAL_COLUMNS.has(column) ? 10 : 0, arbitrary: fc.constant("null") },
    { weight: 1, arbitrary: oddCell },
  );
  const stamps = fc.constant(Array.from({ length }, (_, k) => String(1_700_000_000_000 + k * 60_000)));
  const exact = fc.array(cell, { minLength: length, maxLength: length });
  const cells = column === "timestamp" ? fc.oneof(stamps, exact) : exact;
  return fc
    .tuple(cells, fc.constantFrom(",", ",", ",", ", ", " ,\n"))
    .map(([all, comma]) => `[${all.join(comma)}]`);
}

const anyLength = fc.oneof(fc.nat(3), fc.nat(40), fc.integer({ min: 10, max: 40 }));
const required = WIRE_COLUMNS.filter((name) => !OPTIONAL_COLUMNS.has(name));
const optional = WIRE_COLUMNS.filter((name) => OPTIONAL_COLUMNS.has(name));

/** Members of Compact K-line data: mostly all that belong to it, of one length, in any order. */
const anyBarsText = fc
  .tuple(anyLength, fc.subarray(optional), fc.nat(150), fc.nat(150))
  .chain(([length, extra, left, unequal]) => {
    const names = [...required.filter((_, k) => k !== left), ...extra];
    const members = names.map((name, k) =>
      fc.tuple(fc.constant(`"${name}"`), anyCells(name, k === unequal ? length + 1 : length)),
    );
    const odd = fc.tuple(
      fc.oneof(anyStringText, fc.constantFrom(...WIRE_COLUMNS.map((name) => `"${name}"`))),
      anyText,
    );
    const oddMembers = fc.oneof(
      { weight: 8, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(odd, { maxLength: 2 }) },
    );
    return fc
      .tuple(fc.tuple(...members), oddMembers)
      .chain(([usual, unusual]) =>
        fc.shuffledSubarray([...usual, ...unusual], { minLength: names.length + unusual.length }),
      );
  })
  .chain((members) => objectText(members));

function objectText(members: readonly (readonly [key: string, value: string])[]): fc.Arbitrary<string> {
  return fc
    .array(anySpace, { minLength: members.length + 1, maxLength: members.length + 1 })
    .map(
      (spaces) =>
        `{${members.map(([key, value], k) => `${spaces[k]}${key}:${spaces[k + 1]}${value}`).join(",")}}`,
    );
}

const anySymbolText = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...SYMBOLS).map((symbol) => JSON.stringify(symbol)) },
  { weight: 1, arbitrary: fc.constantFrom('"\\u0041APL.US"', '"600519.SH "', '""') },
  { weight: 1, arbitrary: anyStringText },
);
const anyEntry = fc.tuple(
  anySymbolText,
  fc.oneof({ weight: 12, arbitrary: anyBarsText }, { weight: 1, arbitrary: anyText }),
);
const anyMap = fc
  .oneof(
    {
      weight: 8,
      arbitrary: fc.uniqueArray(anyEntry, { selector: ([key]) => JSON.parse(key) as string, maxLength: 4 }),
    },
    { weight: 1, arbitrary: fc.array(anyEntry, { maxLength: 4 }) },
  )
  .chain(objectText);

/** Symbols that are alike, as services write them: the same columns in the same order, without blanks; a few are not quite so. */
const anyAlikeMap = fc
  .tuple(fc.shuffledSubarray(required, { minLength: required.length }), fc.subarray(optional))
  .chain(([first, extra]) => {
    const names = [...first, ...extra];
    const others = [
      [...names.slice(1), names[0] as string],
      names.slice(1),
      [...names, names[0] as string],
      [...names, "other"],
      [...required, ...optional],
    ];
    const order = fc.oneof(
      { weight: 20, arbitrary: fc.constant(names) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    );
    const ofColumn = (name: string, length: number): fc.Arbitrary<string> => {
      const plain = name === "timestamp" ? anyStamp : name === "volume" ? fc.nat().map(String) : anyPrice;
      const cell = fc.oneof({ weight: 400, arbitrary: plain }, { weight: 1, arbitrary: oddCell });
      const stamps = Array.from({ length }, (_, k) => String(1_700_000_000_000 + (k + 5) * 60_000));
      const cells = fc.array(cell, { minLength: length, maxLength: length });
      return (
        name === "timestamp" ? fc.oneof({ weight: 9, arbitrary: fc.constant(stamps) }, cells) : cells
      ).map((all) => `"${name}":[${all.join(",")}]`);
    };
    const length = fc.oneof(
      { weight: 6, arbitrary: fc.constant(1) },
      fc.nat(3),
      fc.constantFrom(16, 17, 150),
    );
    const bars = fc
      .tuple(length, order, fc.nat(200))
      .chain(([rows, own, unequal]) =>
        fc.tuple(...own.map((name, k) => ofColumn(name, k === unequal ? rows + 1 : rows))),
      )
      .map((columns) => `{${columns.join(",")}}`);
    const name = fc.oneof(
      { weight: 60, arbitrary: fc.constantFrom(...ALIKE_SYMBOLS).map((symbol) => JSON.stringify(symbol)) },
      { weight: 1, arbitrary: anySymbolText },
    );
    const entry = fc.tuple(
      name,
      fc.oneof({ weight: 60, arbitrary: bars }, { weight: 1, arbitrary: anyText }),
    );
    return fc.oneof(
      { weight: 9, arbitrary: fc.uniqueArray(entry, { selector: ([key]) => key, maxLength: 12 }) },
      { weight: 1, arbitrary: fc.array(entry, { maxLength: 6 }) },
    );
  })
  .map((entries) => `{${entries.map(([key, value]) => `${key}:${value}`).join(",")}}`);

const anyRootMember = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(anyStringText, anyText) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<[string, string]>(
      ['"code"', '"INVALID_PERIOD"'],
      ['"message"', '"no"'],
      ['"data"', "{}"],
    ),
  },
);

function anyRoot(data: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const others = fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(anyRootMember, { maxLength: 2 }) },
  );
  return fc
    .tuple(data, others, fc.boolean())
    .chain(([value, rest, first]) =>
      objectText(first ? [['"data"', value], ...rest] : [...rest, ['"data"', value]]),
    );
}

const anyWindow = fc.constantFrom(undefined, undefined, undefined, {
  first: 1_700_000_000_000 + 5 * 60_000,
  last: 1_700_000_000_000 + 30 * 60_000,
});

/** K-line responses of both shapes: good ones, and such with every defect that a response can have. */
export const anyKlineDocument: fc.Arbitrary<KlineDocument> = fc.oneof(
  fc.record({
    text: anyRoot(
      fc.oneof(
        { weight: 12, arbitrary: anyMap },
        { weight: 8, arbitrary: anyAlikeMap },
        { weight: 1, arbitrary: anyText },
      ),
    ),
    expectation: fc.record({
      shape: fc.constant("map" as const),
      symbols: fc.option(fc.subarray(ALIKE_SYMBOLS, { minLength: 3 }), { nil: undefined, freq: 1 }),
      window: anyWindow,
    }),
  }),
  fc.record({
    text: anyRoot(fc.oneof({ weight: 20, arbitrary: anyBarsText }, { weight: 1, arbitrary: anyText })),
    expectation: fc.record({
      shape: fc.constant("single" as const),
      symbols: fc.constant([SYMBOLS[0] as string]),
      window: anyWindow,
    }),
  }),
);
