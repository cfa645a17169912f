import fc from "fast-check";
import { expect, test } from "vitest";
import { visibleRows } from "../../../../src/ui/browser/notebook/result-controls.js";

test("the rows of the view are drawn, from the first to the last, in a table of any length", () => {
  const position = fc.record({
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    view: fc.integer({ min: 100, max: 2000 }),
    row: fc.integer({ min: 16, max: 60 }),
    rows: fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 100_000_000 })),
  });
  fc.assert(
    fc.property(position, ({ part, view, row, rows }) => {
      const { height } = visibleRows(0, view, row, rows);
      const scrolled = part * Math.max(0, height - view);
      const { first, count, above } = visibleRows(scrolled, view, row, rows);
      expect(height).toBeLessThanOrEqual(8_000_000);
      expect(first).toBeGreaterThanOrEqual(0);
      expect(first + count).toBeLessThanOrEqual(rows);
      // What is drawn covers the view, or is all of it.
      expect(above).toBeLessThanOrEqual(scrolled + 0.001);
      expect(above + count * row).toBeGreaterThanOrEqual(Math.min(scrolled + view, height) - 0.001);
    }),
  );
});

test("the top shows the first row, and the end the last one", () => {
  for (const rows of [3, 1000, 1_000_000, 50_000_000]) {
    const top = visibleRows(0, 400, 28, rows);
    expect([top.first, top.above]).toEqual([0, 0]);
    const end = visibleRows(top.height, 400, 28, rows);
    expect(end.first + end.count).toBe(rows);
    expect(end.above + end.count * 28).toBeCloseTo(end.height);
  }
});
