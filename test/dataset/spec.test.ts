import { expect, test } from "vitest";
import { type DatasetDefinition, defineDataset } from "../../src/dataset/spec.js";

test("a field that is missing is said to be missing", () => {
  const definition = { name: "mine", universe: "SIM_CN_50" } as unknown as DatasetDefinition;
  expect(() => defineDataset(definition)).toThrow(/^dataset mine: from: is missing$/);
});

test.each([
  [{ universe: 7 }, /^dataset mine: universe: Invalid input$/],
  [{ universe: ["600519.SH", "x"] }, /^dataset mine: universe\.1: must be of the form CODE\.EXCHANGE$/],
  [{ fields: [{ name: "x", expression: "close" }] }, /fields\.0\.sql: is missing; fields\.0: .*"expression"/],
])("of a field with several forms, what is wrong in it is said: %j", (part, message) => {
  const definition = { name: "mine", universe: "SIM_CN_50", from: "2026-01-01", ...part };
  expect(() => defineDataset(definition as unknown as DatasetDefinition)).toThrow(message);
});
