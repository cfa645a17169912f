import { definePipeline } from "barlake";

export default definePipeline({
  name: "minute",
  kind: "bars",
  doc: "One-minute bars of Chinese stocks and ETFs, of the last year: services have no more.",
  period: "1m",
  from: "-365d",
  // The newest session counts as one: the one before it is requested again, too.
  lookback: "2d",
  regions: ["CN"],
  schedule: { at: "19:00", region: "CN" },
});
