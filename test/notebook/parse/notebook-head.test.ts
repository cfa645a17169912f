import { expect, test } from "vitest";
import { notebookHead } from "../../../src/notebook/parse/parse-notebook.js";

const headOf = (...lines: string[]) => notebookHead(lines.join("\n"));

test("the description is the paragraph below the first heading, without marks", () => {
  expect(
    headOf(
      "-- # Busiest days",
      "--",
      "-- Days with **most** turnover,",
      "-- by `amount`.",
      "--",
      "-- More.",
      "-- %%",
    ),
  ).toEqual({ title: "Busiest days", description: "Days with most turnover, by amount." });
});

test.each([
  [["-- # Title", "-- Prose.", "-- %% param days = 5"], "Prose."],
  [["-- # Title", "-- Prose.", "--  %% param days = 5"], "Prose."],
  [["-- # Title", "--  %% chart line"], undefined],
  [["-- # Title", "-- Prose.", "SELECT 1"], "Prose."],
  [["-- # Title", "-- Prose.", "-- ## Next"], "Prose."],
  [["-- # Title\r", "-- Prose.\r", "-- More.\r", "SELECT 1\r"], "Prose. More."],
  [["\uFEFF-- # Title", "-- Prose."], "Prose."],
  [["-- %% param days = 5", "-- # Title", "-- Prose."], "Prose."],
  [["-- # Title", "-- %%", "-- Prose of a cell."], undefined],
  [["-- # Title", "", "-- Prose."], "Prose."],
  [["-- # Title", "", "SELECT 1 -- no prose"], undefined],
  [["-- # Title"], undefined],
])("%j: %s", (lines, description) => {
  expect(headOf(...lines)).toEqual({ title: "Title", description });
});

test("a long line of blanks ends the paragraph, and does not take long", () => {
  expect(headOf("-- # Title", "-- Prose.  ", `--${" ".repeat(200_000)}`, "-- More.")).toEqual({
    title: "Title",
    description: "Prose.",
  });
});

test("a file without a heading has neither", () => {
  expect(headOf("-- a comment", "SELECT 1")).toEqual({ title: undefined, description: undefined });
  expect(headOf("")).toEqual({ title: undefined, description: undefined });
});
