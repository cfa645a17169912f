import { definePipeline } from "barlake";

export default definePipeline({
  name: "reference",
  kind: "reference",
  doc: "Exchanges, instruments, universes and their members, as dated snapshots.",
  refreshHours: 12,
  schedule: { at: "08:30", region: "CN", days: "daily" },
});
