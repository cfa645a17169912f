import { Marked } from "marked";
import { firstRows, type StatementResult } from "../../db/result/statement-result.js";
import type { ChartData } from "../chart-data.js";
import { type ShownNames, shownName, type View } from "../notebook.js";
import { notebookTexts } from "../notebook-texts.js";
import type { CellFault, CellRun } from "../run-notebook.js";
import { formatValues } from "./format-values.js";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** A value as JSON for the content of a script element. No part of it can end the element or begin a comment. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

const markdown = new Marked({
  async: false,
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      if (!/^(https?:|mailto:|#)/i.test(href)) return text;
      return `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${text}</a>`;
    },
    // A page loads nothing, so an image is replaced by its text.
    image: ({ text }) => escapeHtml(text),
  },
});

/** Markdown as HTML. HTML within it is shown as text. Links can lead only to the web, a mailbox or the page itself. */
function proseHtml(prose: string): string {
  return markdown.parse(prose) as string;
}

/** Most rows of the table below a chart. */
const CHART_ROWS = 100;

/** A cell as a section of a page. @param chartAt index of its chart among the page's charts. */
export function cellHtml({ cell, results, chart, fault }: CellRun, chartAt: number): string {
  const parts = [cell.prose === "" ? "" : `<div class="prose">${proseHtml(cell.prose)}</div>`];
  const { view } = cell;
  const last = results.at(-1);
  if (cell.sql !== "") {
    if (view.title !== undefined) parts.push(`<h3>${escapeHtml(view.title)}</h3>`);
    for (const result of results) {
      if (result !== last || view.kind === "table") parts.push(tableHtml(result, view));
      else if (view.kind === "figures") parts.push(figuresHtml(result, view));
      else if (result.rows === 0) parts.push(emptyHtml(view));
      else if (chart !== undefined) parts.push(chartHtml(chartAt, chart, view, result));
    }
    if (fault !== undefined) parts.push(faultHtml(fault, view));
    const summary =
      results.length > 0 || fault !== undefined ? "SQL" : notebookTexts(view.language).preparing;
    parts.push(
      `<details class="source sql"><summary>${summary}</summary><pre>${escapeHtml(cell.sql)}</pre></details>`,
    );
  }
  const isSilent = cell.prose === "" && results.length === 0 && fault === undefined;
  return `<section id="line-${cell.line}"${isSilent ? ' class="silent"' : ""}>${parts.join("\n")}</section>`;
}

function chartHtml(at: number, data: ChartData, view: View, result: StatementResult): string {
  const drawn = result.columns[0]?.values.length ?? 0;
  const said = notebookTexts(view.language);
  const label = view.title ?? said.chart(view.kind);
  const cut = drawn < result.rows ? noteHtml(said.drawn(count(drawn), count(result.rows))) : "";
  return `<figure class="chart ${view.kind}" data-chart="${at}" style="min-height:${data.chart.height}px" role="img" aria-label="${escapeHtml(label)}"></figure>${daysHtml(data)}${cut}
<details class="source"><summary>${said.data}</summary>${tableHtml(firstRows(result, CHART_ROWS), view, view.names)}</details>`;
}

/** The days of bars that are shorter than a day; the axis may not show these days. */
function daysHtml({ chart, channels: { x: [x] = [] } }: ChartData): string {
  if (chart.kind !== "candlestick" || x?.kind !== "time") return "";
  const days = formatValues({ kind: "time", values: x.values }).map((text) => text?.slice(0, 10) ?? "");
  const [first, last] = [days.reduce((a, b) => (a < b ? a : b)), days.reduce((a, b) => (a > b ? a : b))];
  return noteHtml(notebookTexts(chart.language).days(first, last));
}

/** @param names what is shown for texts: those of a chart's rows are the same as in the chart */
function tableHtml({ columns, rows }: StatementResult, view: View, names?: ShownNames): string {
  if (rows === 0) return emptyHtml(view);
  const texts = columns.map((column) =>
    formatValues(column, view.percent.includes(column.name)).map(
      (text) => (text && names?.get(text)) ?? text,
    ),
  );
  const isRight = columns.map(({ kind }) => kind === "number");
  const classOf = (index: number): string => (isRight[index] ? ' class="n"' : "");
  const head = columns.map(
    ({ name }, i) => `<th${classOf(i)} scope="col">${escapeHtml(shownName(view.names, name))}</th>`,
  );
  const shown = columns[0]?.values.length ?? 0;
  const body = Array.from({ length: shown }, (_, row) => {
    const cells = texts.map((column, i) => {
      const text = column[row];
      return text === null || text === undefined
        ? `<td class="${isRight[i] ? "n " : ""}null">·</td>`
        : `<td${classOf(i)}>${escapeHtml(text)}</td>`;
    });
    return `<tr>${cells.join("")}</tr>`;
  });
  const cut = shown < rows ? noteHtml(notebookTexts(view.language).first(count(shown), count(rows))) : "";
  return `<div class="table" tabindex="0"><table><thead><tr>${head.join("")}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>${cut}`;
}

function figuresHtml(result: StatementResult, view: View): string {
  if (result.rows === 0) return emptyHtml(view);
  const tiles = result.columns.map((column) => {
    const [text] = formatValues(
      { ...column, values: column.values.slice(0, 1) },
      view.percent.includes(column.name),
    );
    return `<div><dt>${escapeHtml(shownName(view.names, column.name))}</dt><dd>${escapeHtml(valueText(view, text))}</dd></div>`;
  });
  return `<dl class="figures">${tiles.join("")}</dl>`;
}

/** A figure's text in the notebook's own words, where it has them. */
function valueText({ names }: View, text: string | null | undefined): string {
  return text == null ? "·" : (names?.get(text) ?? text);
}

function faultHtml({ line, message, hint, place }: CellFault, { language }: View): string {
  const where = place === undefined ? "" : `<pre class="place">${escapeHtml(place)}</pre>`;
  const next = hint === undefined ? "" : `<p>${escapeHtml(hint)}</p>`;
  return `<div class="fault" role="alert"><strong>${notebookTexts(language).line(line)}</strong><pre>${escapeHtml(message)}</pre>${where}${next}</div>`;
}

function emptyHtml({ empty, language }: View): string {
  return `<p class="empty">${escapeHtml(empty ?? notebookTexts(language).noRows)}</p>`;
}

function noteHtml(text: string): string {
  return `<p class="note">${escapeHtml(text)}</p>`;
}

function count(n: number): string {
  return n.toLocaleString("en-US");
}
