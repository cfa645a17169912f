import { expect, test } from "vitest";
import { type ServiceOptions, withQuota } from "../../src/cli/service-option.js";

const OPTIONS: ServiceOptions = { lake: "data" };

test.each([
  ["a pipeline's quota, its share of it", OPTIONS, { requestsPerMinute: 30, share: 0.5 }, 15],
  ["a pipeline's quota, all of it", OPTIONS, { requestsPerMinute: 30 }, 30],
  ["the option before the pipeline's", { ...OPTIONS, rpm: 7 }, { requestsPerMinute: 30 }, 7],
  ["none, where nobody names one", OPTIONS, undefined, undefined],
])("requests a minute: %s", (_, options, quota, expected) => {
  expect(withQuota(options, quota).rpm).toBe(expected);
});
