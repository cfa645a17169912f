import { definePipeline } from "barlake";

export default definePipeline({
  name: "intraday",
  kind: "intraday",
  doc: "One-minute bars of the latest trading day, whole universes at a time.",
  universes: ["CN_Equity_A", "CN_ETF"],
  schedule: { at: ["11:45", "15:15"], region: "CN" },
});
