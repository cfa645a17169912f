import { expect, test } from "vitest";
import { planText } from "../../../src/cli/dataset/dataset-text.js";

test("a plan says of each field how much of it has no value, also where that is nothing", () => {
  const text = planText({
    name: "mine",
    format: "long-parquet",
    first: "2026-01-02",
    last: "2026-11-20",
    folder: "out",
    symbols: 1,
    labels: 2,
    rows: 2,
    bytes: 100,
    warnings: [],
    fields: [
      { name: "close", nulls: 0 },
      { name: "momentum", nulls: 0.25 },
    ],
    masks: ["tradable"],
  } as unknown as Parameters<typeof planText>[0]);
  expect(text).toMatch(/close +0 %\n/);
  expect(text).toMatch(/momentum +25\.0 %\n/);
});
