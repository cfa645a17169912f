import { definePipeline } from "barlake";

export default definePipeline({
  name: "daily",
  kind: "bars",
  doc: "Daily bars of every stock and ETF, their whole history, and the factors of their ex-events.",
  period: "1d",
  from: "1990-01-01",
  lookback: "3d",
  exFactors: true,
  schedule: [
    { at: "18:30", region: "CN" },
    { at: "18:30", region: "HK" },
    { at: "21:30", region: "US" },
  ],
});
