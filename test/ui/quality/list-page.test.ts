import { expect, test } from "vitest";
import {
  listPage,
  MOST_PAGES,
  offsetOf,
  PAGE_ROWS,
  pageWithin,
} from "../../../src/ui/quality/quality-data.js";

test("a list of a million rows has pages, and never more than can be opened", () => {
  expect(listPage([1], 1_000_000, 3)).toEqual({ rows: [1], total: 1_000_000, page: 3, pages: MOST_PAGES });
  expect(offsetOf(1e9)).toBe((MOST_PAGES - 1) * PAGE_ROWS);
  expect(listPage([], 0, 7)).toEqual({ rows: [], total: 0, page: 7, pages: 1 });
  expect([offsetOf(-1), offsetOf(Number.NaN), offsetOf(2)]).toEqual([0, 0, PAGE_ROWS]);
});

test("a page after the end is the last one; of an empty list, the first", async () => {
  const listOf = (total: number) => (page: number) => {
    const rows = Array.from({ length: total }, (_, n) => n);
    return listPage(rows.slice(offsetOf(page), offsetOf(page) + PAGE_ROWS), total, page);
  };
  expect(await pageWithin(9, listOf(250))).toMatchObject({ page: 3, pages: 3, rows: { length: 50 } });
  expect(await pageWithin(2, listOf(250))).toMatchObject({ page: 2, rows: { length: 100 } });
  expect(await pageWithin(9, listOf(0))).toMatchObject({ page: 1, pages: 1, total: 0 });
});
