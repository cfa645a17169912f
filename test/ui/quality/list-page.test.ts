import { expect, test } from "vitest";
import { listPage, MOST_PAGES, offsetOf, PAGE_ROWS } from "../../../src/ui/quality/list-page.js";

test("a list of a million rows has pages, and never more than can be opened", () => {
  expect(listPage([1], 1_000_000, 3)).toEqual({ rows: [1], total: 1_000_000, page: 3, pages: MOST_PAGES });
  expect(offsetOf(1e9)).toBe((MOST_PAGES - 1) * PAGE_ROWS);
  expect(listPage([], 0, 7)).toEqual({ rows: [], total: 0, page: 7, pages: 1 });
  expect([offsetOf(-1), offsetOf(Number.NaN), offsetOf(2)]).toEqual([0, 0, PAGE_ROWS]);
});
