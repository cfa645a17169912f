import { expect, test } from "vitest";
import { type ServiceOptions, withQuota } from "../../../src/cli/options/service-option.js";

const OPTIONS: ServiceOptions = { lake: "data" };

test.each([
  ["a pipeline's quota and its share of it", OPTIONS, { requestsPerMinute: 30, share: 0.5 }, 30, 0.5],
  ["a pipeline's quota, all of it", OPTIONS, { requestsPerMinute: 30 }, 30, undefined],
  ["the options before the pipeline's", { ...OPTIONS, rpm: 7, share: 0.2 }, { share: 0.5 }, 7, 0.2],
  ["none, where nobody names one", OPTIONS, undefined, undefined, undefined],
])("requests a minute: %s", (_, options, quota, rpm, share) => {
  const { rpm: minute, share: part } = withQuota(options, quota);
  expect([minute, part]).toEqual([rpm, share]);
});
