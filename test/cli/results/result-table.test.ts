import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { cut, resultTable, type TableMode } from "../../../src/cli/results/result-table.js";
import { unicodeText } from "../../unicode-text.js";

const column = (name: string, type = "VARCHAR") => ({ name, type });
const show = (
  columns: readonly { name: string; type: string }[],
  rows: readonly (readonly (string | number | null)[])[],
  width?: number,
  mode: TableMode = "table",
) => resultTable(columns, rows, { mode, width, advice: "more" });

test("numbers are set to the right, wide characters take two columns, missing values a dot", () => {
  expect(
    show(
      [column("name"), column("close", "DOUBLE"), column("note")],
      [
        ["贵州茅台", 1500.5, "a"],
        ["AAPL", 9, null],
      ],
    ),
  ).toBe("name       close  note\n贵州茅台  1500.5  a\nAAPL           9  ·");
});

test("a double has six decimals at most, below one six digits; as lines, and for prices, all", () => {
  const columns = [column("close", "DOUBLE"), column("r", "DOUBLE"), column("n", "BIGINT")];
  const rows = [
    [1234.5678, 0.0022172949002217113, "12345678901234567"],
    [101_234_567.1234568, -0.09076520431426724, "1"],
    [4.52, 1e-9 / 3, "1"],
    [0, Number.MAX_VALUE, "1"],
  ];
  const [, ...lines] = show(columns, rows).split("\n");
  expect(lines.map((line) => line.trim().split(/ +/))).toEqual([
    ["1234.5678", "0.00221729", "12345678901234567"],
    ["101234567.123457", "-0.0907652", "1"],
    ["4.52", "3.33333e-10", "1"],
    ["0", "1.7976931348623157e+308", "1"],
  ]);
  expect(show(columns, rows, 80, "lines")).toContain("0.0022172949002217113");
});

test("columns that do not fit are left out and named", () => {
  const columns = ["a", "b", "c", "d"].map((name) => column(name));
  const text = show(columns, [["1".repeat(10), "2".repeat(10), "3".repeat(10), "4".repeat(10)]], 40);
  expect(text.split("\n")).toEqual([
    "a           b           c",
    "1111111111  2222222222  3333333333",
    "1 more column: d (more)",
  ]);
});

test("long texts are cut, unless all columns are requested", () => {
  const columns = [column("a"), column("b")];
  const rows = [["x".repeat(50), "end"]];
  expect(show(columns, rows, 80)).toContain(`${"x".repeat(39)}…  end`);
  expect(show(columns, rows, 80, "wide")).toContain(`${"x".repeat(50)}  end`);
  expect(show(columns, rows)).toContain(`${"x".repeat(50)}  end`);
});

test.each([0, 1, 5, 19])("a terminal of %i columns gets lines of twenty", (width) => {
  const rows = [["x".repeat(50), "end"]];
  for (const columns of [[column("a")], [column("a"), column("b")]])
    for (const mode of ["table", "lines"] as const)
      expect(show(columns, rows, width, mode)).toBe(show(columns, rows, 20, mode));
});

test("as lines, each value has one", () => {
  expect(
    show(
      [column("a"), column("long_name")],
      [
        ["1", null],
        ["2", "x"],
      ],
      80,
      "lines",
    ),
  ).toBe("        a  1\nlong_name  ·\n\n        a  2\nlong_name  x");
});

test("the first of several columns is cut on a terminal that is narrower than its text", () => {
  const text = show([column("a"), column("b")], [["1".repeat(30), "2"]], 20);
  expect(text.split("\n")).toEqual(["a", `${"1".repeat(19)}…`, "1 more column (more)"]);
});

test("what a terminal would obey is shown and not obeyed", () => {
  const text = show([column("a\u001b[31m")], [["\u001b]0;title\u0007"], ["two\nlines\u202e"]]);
  expect(text).toBe("a\\u001b[31m\n\\u001b]0;title\\u0007\ntwo\\nlines\\u202e");
});

describe("with any values", () => {
  const anyText = fc.oneof(unicodeText({ maxLength: 60 }), fc.string({ unit: "grapheme", maxLength: 60 }));

  test("no line is wider than the terminal, and every column is shown or named or counted", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 120 }),
        fc.constantFrom<TableMode>("table", "lines"),
        fc
          .integer({ min: 1, max: 8 })
          .chain((n) =>
            fc.tuple(
              fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: n, maxLength: n }),
              fc.array(fc.array(fc.option(anyText), { minLength: n, maxLength: n }), { maxLength: 4 }),
            ),
          ),
        (width, mode, [names, rows]) => {
          const text = show(
            names.map((name) => column(name)),
            rows,
            width,
            mode,
          );
          for (const line of text.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(width);
          if (mode === "lines") return;
          const [head = ""] = text.split("\n");
          const left = Number(/^(\d+) more columns?/m.exec(text)?.[1] ?? 0);
          expect(head.trim().split(/\s+/).length + left).toBe(names.length);
        },
      ),
    );
  });

  test("a cut text fits, and is as long as it can be", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, width) => {
        const short = cut(text, width);
        expect(stringWidth(short)).toBeLessThanOrEqual(width);
        if (stringWidth(text) <= width) expect(short).toBe(text);
        else expect(short.endsWith("…") && text.startsWith(short.slice(0, -1))).toBe(true);
      }),
    );
  });
});
