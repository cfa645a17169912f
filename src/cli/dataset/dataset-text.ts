import type { BuildReport } from "../../dataset/build-dataset.js";
import type { DatasetPlan } from "../../dataset/plan-dataset.js";
import type { DatasetFormat } from "../../dataset/spec.js";
import type { FoundDataset } from "../../dataset/store/place/list-datasets.js";
import { changesText, isOfPast } from "../../dataset/store/verify/lake-changes.js";
import { type DatasetCheck, isSound } from "../../dataset/store/verify/verify-dataset.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { count, paint, plural, size, table } from "../text/text.js";
import { coverageLines } from "./coverage-text.js";

/** A share as a percentage. */
const percent = (part: number): string => (part === 0 ? "0 %" : `${(part * 100).toFixed(1)} %`);

/** A planned dataset as text. */
export function planText(plan: DatasetPlan): string {
  const lines = [
    `${paint("bold", plan.name)}, ${plan.format}: ${plan.first} to ${plan.last}; nothing was written`,
    `${plural(plan.symbols, "symbol")}, ${plural(plan.labels, "label")}, ${plural(plan.rows, "row")}, about ${size(plan.bytes)}`,
    "",
    table(
      ["field", "without a value"],
      [
        ...plan.fields.map(({ name, nulls }) => [name, percent(nulls)]),
        ...plan.masks.map((name) => [name, ""]),
      ],
    ),
    "",
    ...coverageLines(plan.coverage, plan.period, "with --json"),
    ...warningLines(plan.warnings),
    `${paint("dim", "into")} ${plan.folder}`,
  ];
  return lines.join("\n");
}

/** A built dataset as text. */
export function buildText(report: BuildReport, tookMs: number): string {
  const { name, spec, symbols, rows, newRows, labels, files, bytes, first, last, folder, content } = report;
  const added = newRows === rows ? "" : ` (${count(newRows)} of them new)`;
  const rate = tookMs > 0 ? ` in ${(tookMs / 1000).toFixed(1)} s` : "";
  return [
    `${paint("bold", name)}, ${spec.format}: ${first} to ${last}`,
    `${plural(symbols.length, "symbol")}, ${plural(labels, "label")}, ${plural(rows, "row")}${added}; ${plural(files, "file")}, ${size(bytes)}${rate}`,
    ...coverageLines(report.coverage, spec.period, "coverage in its manifest.json"),
    ...warningLines(report.warnings),
    `${paint("dim", "content")} ${content.slice(0, 16)}`,
    `${paint("dim", "in")} ${folder}`,
    `${paint("dim", "load")} ${LOADING[spec.format](folder, regionOfDataset(report))}`,
  ].join("\n");
}

/** What a build that was stopped has left. */
export function stoppedText(folder: string): string {
  return `stopped: nothing of this build is left, and ${folder} is as it was before`;
}

/** The state of a dataset as text. */
export function checkText(check: DatasetCheck): string {
  const { manifest, folder, damage, changes, otherwise, isReproduced } = check;
  const past = changes.filter(isOfPast);
  const lines = [
    `${paint("bold", manifest.name)}, ${manifest.spec.format}: ${isSound(check) ? paint("green", "sound") : paint("red", "not as it was made")}`,
    damage.length === 0
      ? `files: ${plural(manifest.files, "file")} as they were written`
      : `files: ${damage.slice(0, 5).join("; ")}${damage.length > 5 ? `; and ${damage.length - 5} more` : ""}`,
    past.length === 0
      ? `lake: nothing of its days has changed${changes.length > 0 ? ", while new ones came: --append adds them" : ""}`
      : `lake: ${changesText(past)}`,
    ...otherwise.map((text) => `${paint("yellow", "other:")} ${text}`),
    ...(isReproduced === undefined
      ? []
      : [isReproduced ? "rebuilt: the same bytes" : paint("red", "rebuilt: other bytes")]),
    `${paint("dim", "in")} ${folder}`,
  ];
  return lines.join("\n");
}

/** The datasets of a lake. */
export function listText(found: readonly FoundDataset[]): string {
  const rows = found.map(({ folder, manifest, fault }) =>
    manifest === undefined
      ? [folder, undefined, undefined, undefined, undefined, undefined, fault]
      : [
          manifest.name,
          manifest.spec.format,
          `${manifest.first} to ${manifest.last}`,
          count(manifest.symbols.length),
          count(manifest.rows),
          size(manifest.bytes),
          manifest.createdAt.slice(0, 16).replace("T", " "),
        ],
  );
  return table(["dataset", "format", "dates", "symbols", "rows", "size", "made (UTC)"], rows);
}

function warningLines(warnings: readonly string[]): string[] {
  return warnings.map((text) => `${paint("yellow", "note:")} ${text}`);
}

/** How to load each format. */
const LOADING: Readonly<Record<DatasetFormat, (folder: string, region: Region) => string>> = {
  qlib: (folder, region) => `qlib.init(provider_uri="${folder}"${region === "US" ? ', region="us"' : ""})`,
  "wide-parquet": (folder) => `pandas.read_parquet("${folder}/fields/close.parquet").set_index("trade_date")`,
  "wide-arrow": (folder) => `polars.read_ipc("${folder}/fields/close.arrow")`,
  "long-parquet": (folder) => `polars.scan_parquet("${folder}/rows")`,
  "long-arrow": (folder) => `polars.read_ipc("${folder}/rows.arrow")`,
  "symbol-csv": (folder) => `pandas.read_csv("${folder}/SYMBOL.csv", parse_dates=[0], index_col=0)`,
  "symbol-parquet": (folder) => `pandas.read_parquet("${folder}/SYMBOL.parquet")`,
  backtrader: (folder) =>
    `backtrader.feeds.GenericCSVData(dataname="${folder}/SYMBOL.csv", dtformat="%Y-%m-%d")`,
  "zipline-csvdir": (folder, region) =>
    `zipline.data.bundles.register("NAME", csvdir_equities(None, "${folder}"), calendar_name="${CALENDARS[region]}")`,
  lean: (folder) => `cp -r "${folder}/equity" Lean/Data/`,
};

/** Names of each region's calendar in the package exchange-calendars, which zipline uses: by ISO 10383. */
const CALENDARS: Readonly<Record<Region, string>> = { CN: "XSHG", HK: "XHKG", US: "XNYS" };

/** The region of a dataset's sessions: that of its calendar, or of its first symbol. */
function regionOfDataset({ spec, symbols }: BuildReport): Region {
  return spec.calendar ?? regionOf(symbols[0] as string) ?? "CN";
}
