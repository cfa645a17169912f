import { definePipeline } from "barlake";

export default definePipeline({
  name: "daily",
  kind: "bars",
  doc: "Daily bars of every stock and ETF, their whole history.",
  period: "1d",
  from: "1990-01-01",
});
