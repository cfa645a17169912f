import { definePipeline } from "barlake";

export default definePipeline({
  name: "financials",
  kind: "statements",
  doc: "Balance sheets, cash flows, income, key figures and shares; every version that is ever seen is stored.",
  regions: ["CN"],
  schedule: { at: "20:00", region: "CN", days: "daily" },
});
