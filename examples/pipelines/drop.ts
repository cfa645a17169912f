// Lands the files that come into a folder, without a service: docs/operations.md explains the fields. Copied into the
// folder pipelines/ of a project, `barlake plan drop` shows what it would read.
export default {
  name: "drop",
  doc: "Daily bars from the files in a folder.",
  kind: "files",
  table: "bars_1d",
  from: "incoming",
  pattern: "**/*.csv.gz",
  options: { volumeUnit: "shares" },
  schedule: { cron: "*/10 * * * *" },
};
