import fc from "fast-check";
import { expect, test } from "vitest";
import {
  dateOrderOf,
  isNullWord,
  type ReadTime,
  readTime,
  timeFormat,
} from "../../../../src/jobs/import/plan/read-time.js";
import { cases } from "../../../sweep.js";

const DAY = 86_400_000;
/** A time as text: the date, the wall clock or the instant; or what else it is. */
function shown(read: ReadTime): string {
  switch (read.kind) {
    case "date":
      return new Date(read.day * DAY).toISOString().slice(0, 10);
    case "wall":
      return new Date(read.day * DAY + read.timeOfDay).toISOString().slice(0, -1);
    case "instant":
      return new Date(read.ms).toISOString();
    case "empty":
    case "unclear":
    case "none":
      return read.kind;
  }
}

test.each([
  ["2024-01-02", "2024-01-02"],
  ["2024/1/2", "2024-01-02"],
  ["2024.01.02", "2024-01-02"],
  ["2024年1月2日", "2024-01-02"],
  ["２０２４-０１-０２", "2024-01-02"],
  ["20240102", "2024-01-02"],
  ["20240102.0", "2024-01-02"],
  ['="2024-01-02"', "2024-01-02"],
  ["'2024-01-02", "2024-01-02"],
  ["2-Jan-2024", "2024-01-02"],
  ["02 January 2024", "2024-01-02"],
  ["Jan 2, 2024", "2024-01-02"],
  ["Fri Jan 05 2024", "2024-01-05"],
  ["Friday, Jan. 5, 2024", "2024-01-05"],
  ["13/01/2024", "2024-01-13"],
  ["01/13/2024", "2024-01-13"],
  ["05.05.2024", "2024-05-05"],
  ["2024-02-29", "2024-02-29"],
  ["2024-01-02 09:31", "2024-01-02T09:31:00.000"],
  ["2024-01-02T09:31:02.5", "2024-01-02T09:31:02.500"],
  ["20240102 093100", "2024-01-02T09:31:00.000"],
  ["20240102093100", "2024-01-02T09:31:00.000"],
  ["202401020931", "2024-01-02T09:31:00.000"],
  ["2024010209", "2024-01-02T09:00:00.000"],
  ["20240102093100000", "2024-01-02T09:31:00.000"],
  ["2024-01-02 93100", "2024-01-02T09:31:00.000"],
  ["2024-01-02 20240102093500000", "2024-01-02T09:35:00.000"],
  ["1/13/2024 4:00 PM", "2024-01-13T16:00:00.000"],
  ["1/13/2024 12:00 AM", "2024-01-13T00:00:00.000"],
  ["1/13/2024 12:30 pm", "2024-01-13T12:30:00.000"],
  ["2024-01-02T09:31:00Z", "2024-01-02T09:31:00.000Z"],
  ["2024-01-02 09:31:00 UTC", "2024-01-02T09:31:00.000Z"],
  ["2024-01-02 09:31:00-05:00", "2024-01-02T14:31:00.000Z"],
  ["2024-01-02 09:31:00+0800", "2024-01-02T01:31:00.000Z"],
  ["2024-01-02 09:31:00 GMT+08:00", "2024-01-02T01:31:00.000Z"],
  ["1704187860", "2024-01-02T09:31:00.000Z"],
  ["1704187860.5", "2024-01-02T09:31:00.500Z"],
  ["1704187860000", "2024-01-02T09:31:00.000Z"],
  ["1704187860000000", "2024-01-02T09:31:00.000Z"],
  ["1704187860000000000", "2024-01-02T09:31:00.000Z"],
  ["-252356400000", "1962-01-02T05:00:00.000Z"],
])("%s is read", (text, expected) => {
  expect(shown(readTime(text))).toBe(expected);
});

test.each([
  ["01/02/2024", "unclear"],
  ["01-02-2024", "unclear"],
  ["1/2/24", "unclear"],
  ["3-Jan-24", "unclear"],
  ["45293", "unclear"],
  ["", "empty"],
  ["--", "empty"],
  ["NaT", "empty"],
  ["0000-00-00", "empty"],
  ["无", "empty"],
  ["2024", "none"],
  ["202401", "none"],
  ["2024Q1", "none"],
  ["2024-13-01", "none"],
  ["2023-02-29", "none"],
  ["20240230", "none"],
  ["0001-01-01", "none"],
  ["9999-12-31", "none"],
  ["2024-01-02 24:00", "none"],
  ["2024-01-02 13:00 PM", "none"],
  ["2024-01-02 09:31 noon", "none"],
  ["2024-01-02 20240103093500000", "none"],
  ["yesterday", "none"],
  ["12", "none"],
])("%j is %s", (text, kind) => {
  expect(readTime(text).kind).toBe(kind);
});

test("what is unclear says which option decides, and the option reads it", () => {
  for (const [text, format, expected] of [
    ["01/02/2024", "dmy", "2024-02-01"],
    ["01/02/2024", "mdy", "2024-01-02"],
    ["01/02/24", "dmy", "2024-02-01"],
    ["01/02/99", "mdy", "1999-01-02"],
    ["3-Jan-24", "dmy", "2024-01-03"],
    ["45293", "excel", "2024-01-02"],
  ] as const) {
    const read = readTime(text);
    expect(read).toMatchObject({ kind: "unclear", reason: expect.stringContaining(`\`dateFormat: "`) });
    expect(shown((timeFormat(format) as (text: string) => ReadTime)(text))).toBe(expected);
  }
});

test.each([
  ["DD.MM.YYYY", "01.02.2024", "2024-02-01"],
  ["%d/%m/%y", "01/02/24", "2024-02-01"],
  ["%d/%m/%y", "01/02/69", "1969-02-01"],
  ["%b %d, %Y", "Feb 01, 2024", "2024-02-01"],
  ["YYYY-MM-DD HH:mm", "2024-02-01 09:31", "2024-02-01T09:31:00.000"],
  ["%Y%m%d %H%M%S", "20240201 093102", "2024-02-01T09:31:02.000"],
  ["s", "1704187860", "2024-01-02T09:31:00.000Z"],
  ["s", "100", "1970-01-01T00:01:40.000Z"],
  ["excel", "45293.5", "2024-01-02T12:00:00.000"],
  ["DD.MM.YYYY", "2024-02-01", "none"],
  ["DD.MM.YYYY", "--", "empty"],
  ["s", "x", "none"],
])("the format %s reads %s", (format, text, expected) => {
  expect(shown((timeFormat(format) as (text: string) => ReadTime)(text))).toBe(expected);
});

test.each(["maybe", "%H:%M", "YYYY", "%Y-%m-%q", ""])("%j is no format", (format) => {
  expect(timeFormat(format)).toBeUndefined();
});

test("the order of day and month is shown by a number above 12, unless others show the other one", () => {
  expect(dateOrderOf(["01/02/2024", "13/02/2024"])).toBe("dmy");
  expect(dateOrderOf(["01/02/2024", "02/13/2024"])).toBe("mdy");
  expect(dateOrderOf(["13/02/2024", "02/13/2024"])).toBeUndefined();
  expect(dateOrderOf(["01/02/2024", "2024-02-13"])).toBeUndefined();
});

const days = fc.integer({
  min: Math.floor(Date.UTC(1900, 0, 1) / DAY),
  max: Math.floor(Date.UTC(2200, 11, 31) / DAY),
});
const runs = { numRuns: cases({ few: 300, all: 20_000 }) };

test("every day of 1900 to 2200 is read in all notations with one reading", () => {
  const names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  fc.assert(
    fc.property(days, (day) => {
      const iso = new Date(day * DAY).toISOString().slice(0, 10);
      const [y = "", m = "", d = ""] = iso.split("-");
      const month = names[Number(m) - 1];
      const texts = [
        iso,
        `${y}${m}${d}`,
        `${y}/${Number(m)}/${Number(d)}`,
        `${y}.${m}.${d}`,
        `${y}年${Number(m)}月${Number(d)}日`,
        `${Number(d)}-${month}-${y}`,
        `${month} ${Number(d)}, ${y}`,
      ];
      expect(texts.map((text) => readTime(text))).toEqual(texts.map(() => ({ kind: "date", day })));
      expect(readTime(`${d}/${m}/${y}`, "dmy")).toEqual({ kind: "date", day });
      expect(readTime(`${m}-${d}-${y}`, "mdy")).toEqual({ kind: "date", day });
      expect((timeFormat("%d.%m.%Y") as (text: string) => ReadTime)(`${d}.${m}.${y}`)).toEqual({
        kind: "date",
        day,
      });
      expect((timeFormat("excel") as (text: string) => ReadTime)(String(day + 25_569))).toEqual({
        kind: "date",
        day,
      });
    }),
    runs,
  );
});

test("an instant is read alike with every offset, and as a count in every unit", () => {
  // Twelve digits of 1976 may be milliseconds, or a date and a time.
  const from = Date.UTC(1977, 0, 1);
  fc.assert(
    fc.property(
      fc.integer({ min: from / 1000, max: Date.UTC(2033, 0, 1) / 1000 }),
      fc.integer({ min: -14 * 4, max: 14 * 4 }),
      (seconds, quarters) => {
        const ms = seconds * 1000;
        const local = new Date(ms + quarters * 900_000).toISOString().slice(0, 19);
        const minutes = Math.abs(quarters) * 15;
        const two = (n: number): string => String(n).padStart(2, "0");
        const offset = `${quarters < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
        expect(readTime(`${local}${offset}`)).toMatchObject({ kind: "instant", ms });
        for (const unit of ["", "000", "000000", "000000000"])
          expect(readTime(`${seconds}${unit}`)).toMatchObject({ kind: "instant", ms });
      },
    ),
    runs,
  );
});

test("no text throws, and a day that is read is of 1900 to 2200", () => {
  const texts = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 30 }),
    fc.stringMatching(/^[-0-9./: TZAPM+年月日]{0,24}$/),
  );
  fc.assert(
    fc.property(texts, fc.constantFrom(undefined, "dmy", "mdy"), (text, order) => {
      const read = readTime(text, order);
      if (read.kind === "empty")
        expect(
          isNullWord(text.normalize("NFKC").replace(/^[='"\s]+|["\s]+$/g, "")) || text.trim() !== "",
        ).toBe(true);
      if (read.kind === "date" || read.kind === "wall") {
        const year = new Date(read.day * DAY).getUTCFullYear();
        expect(year).toBeGreaterThanOrEqual(1900);
        expect(year).toBeLessThanOrEqual(2200);
      }
    }),
    runs,
  );
});
