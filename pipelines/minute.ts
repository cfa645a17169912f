import { definePipeline } from "barlake";

export default definePipeline({
  name: "minute",
  kind: "bars",
  doc: "One-minute bars of Chinese stocks and ETFs, of the last year: services keep no more.",
  period: "1m",
  from: "-365d",
  regions: ["CN"],
});
