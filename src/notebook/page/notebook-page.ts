import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { BarlakeError } from "../../core/errors.js";
import type { Language } from "../../core/language.js";
import { VERSION } from "../../core/version.js";
import type { NamedValues } from "../../db/session/named-values.js";
import { type PointInTime, rowCount } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { knownAtText } from "../../market/known-at.js";
import type { Notebook } from "../notebook.js";
import { notebookTexts } from "../notebook-texts.js";
import type { CellRun, MostRows } from "../run-notebook.js";
import { cellHtml, escapeHtml, scriptJson } from "./cell-html.js";
import { type PackedChart, packChart } from "./pack-charts.js";

interface PageTable {
  readonly name: string;
  readonly version: number;
  readonly rows: number;
}

interface PageContent {
  readonly title: string;
  /** The language of its texts. @default English */
  readonly language?: Language | undefined;
  /** Path of the notebook; the page shows only the file name. */
  readonly path: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly runs: readonly CellRun[];
  readonly tables: readonly PageTable[];
  readonly pointInTime: PointInTime;
  /** When the page was created, in epoch milliseconds. */
  readonly madeAt: number;
  readonly version: string;
}

/** The output of the build of `browser/`. The relative path is the same from src and from dist. */
const BUILT = new URL("../../../dist/notebook/", import.meta.url);

/**
 * Makes a single HTML file that loads nothing: it contains style, data and scripts, and its policy permits no others.
 */
export async function notebookPage(content: PageContent): Promise<string> {
  const charts: PackedChart[] = [];
  const sections = content.runs.map((run) => {
    const section = cellHtml(run, charts.length);
    if (run.chart !== undefined) charts.push(packChart(run.chart));
    return section;
  });
  const scripts = await Promise.all(scriptsFor(charts).map(readBuilt));
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map((script) => `'${hashOf(script)}'`).join(" ") || "'none'"}`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return `<!doctype html>
<html lang="${content.language === "zh" ? "zh-CN" : "en"}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="barlake ${escapeHtml(content.version)}">
<link rel="icon" href="data:,">
<title>${escapeHtml(content.title)}</title>
<style>
${await readBuilt("page.css")}</style>
</head>
<body>
<main>
${sections.toSpliced(1, 0, parametersHtml(content)).join("\n")}
</main>
${footHtml(content)}
<script type="application/json" id="charts">${scriptJson(charts)}</script>
${scripts.map((script) => `<script>${script}</script>`).join("\n")}
</body>
</html>
`;
}

/** The scripts that the charts need; empty for a page without charts. */
function scriptsFor(charts: readonly PackedChart[]): string[] {
  const candles = charts.some(({ chart }) => chart.kind === "candlestick");
  const plots = charts.some(({ chart }) => chart.kind !== "candlestick");
  return [
    ...(plots ? ["plots.js"] : []),
    ...(candles ? ["candles.js"] : []),
    ...(charts.length > 0 ? ["page.js"] : []),
  ];
}

async function readBuilt(name: string): Promise<string> {
  try {
    return await readFile(new URL(name, BUILT), "utf8");
  } catch (cause) {
    throw new BarlakeError(`page: its ${name} is missing`, { hint: "npm run build makes it", cause });
  }
}

function hashOf(script: string): string {
  return `sha256-${createHash("sha256").update(script).digest("base64")}`;
}

function parametersHtml({ parameters }: PageContent): string {
  if (parameters.length === 0) return "";
  const chips = parameters.map(
    ([name, value]) => `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  return `<dl class="parameters">${chips.join("")}</dl>`;
}

function footHtml({
  path,
  language,
  tables,
  pointInTime: { asOf, knownAt, assumesReference },
  madeAt,
  version,
}: PageContent): string {
  const said = notebookTexts(language);
  const versions = tables
    .filter((table) => table.version >= 0)
    .map(({ name, version: at, rows }) => `${name} v${at} (${said.rows(rows.toLocaleString("en-US"))})`);
  const heading = [
    ...(asOf === undefined ? [] : [said.asOf(instant(asOf))]),
    ...(knownAt === undefined ? [] : [said.known(knownAtText(knownAt))]),
    ...(assumesReference === true ? [said.assumed] : []),
  ]
    .map((text) => `<p>${text}</p>`)
    .join("");
  return `<footer>
${heading}<p>${escapeHtml(versions.join(" · ")) || said.emptyLake}</p>
<p>${escapeHtml(basename(path))} · ${escapeHtml(said.made(instant(madeAt), version))} · ${said.chartsBy}
<a href="https://observablehq.com/plot" rel="noopener noreferrer">Observable Plot</a> ${said.and}
<a href="https://www.tradingview.com/" rel="noopener noreferrer">TradingView Lightweight Charts™</a></p>
</footer>`;
}

function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Most rows of results that a page contains. */
export const PAGE_ROWS: MostRows = { table: (asked) => asked, chart: 50_000 };

interface PageSource {
  readonly values: NamedValues;
  readonly runs: readonly CellRun[];
  readonly snapshots: readonly Snapshot[];
  readonly pointInTime: PointInTime;
  /** When the page is created, in epoch milliseconds. */
  readonly madeAt: number;
}

export function pageContent(
  { title, path, language, names }: Notebook,
  { values, runs, snapshots, pointInTime, madeAt }: PageSource,
): PageContent {
  const tables = snapshots.map((snapshot) => ({
    name: snapshot.table.name,
    version: snapshot.version,
    rows: rowCount(snapshot),
  }));
  return {
    title,
    language,
    path,
    parameters: parameterTexts(values).map(([name, value]) => [names?.get(name) ?? name, value]),
    runs,
    tables,
    pointInTime,
    madeAt,
    version: VERSION,
  };
}

export function parameterTexts(values: NamedValues): [name: string, value: string][] {
  return [...values].map(([name, { value }]) => [name, value === null ? "null" : String(value)]);
}
