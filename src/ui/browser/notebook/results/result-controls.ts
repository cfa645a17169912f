import type { ResultReport } from "../../../result-reports.js";
import { apiAddress } from "../../fetch-data.js";
import { bytes, count } from "../../formats.js";
import { notebookText } from "../notebook-texts.js";
import { virtualTable } from "./virtual-table.js";

/** File formats, with the names that the page shows. */
const FORMATS = [
  ["csv", "CSV"],
  ["parquet", "Parquet"],
  ["arrow", "Arrow"],
] as const;

/**
 * Makes the results of a cell interactive: a table that shows only its first rows can scroll over all rows, and each
 * result can be saved as a file.
 *
 * @param label the text of the links, before the format.
 * @returns a function that removes the controls.
 */
export function resultControls(
  cell: HTMLElement,
  results: readonly ResultReport[],
  label: string,
): () => void {
  const section = cell.querySelector("section");
  if (section === null || results.length === 0) return () => {};
  const tables = [...section.querySelectorAll<HTMLElement>(":scope > .table")];
  // The last result has no table if it is drawn as a chart or as figures. A result without rows has none either.
  const isLastDrawn = section.querySelector(":scope > .chart, :scope > .figures") !== null;
  const isPaired = results.length === tables.length + (isLastDrawn ? 1 : 0);
  const ends = (isPaired ? tables : []).map((table, at) => {
    const result = results[at] as ResultReport;
    const shown = table.querySelectorAll("tbody tr").length;
    return result.id !== null && result.rows > shown ? virtualTable(table, result) : () => {};
  });
  const links = document.createElement("p");
  links.className = "exports";
  for (const result of results.slice(-1)) {
    const { id, rows } = result;
    const number = links.appendChild(document.createElement("span"));
    number.textContent = `${count(rows)} ${notebookText(rows === 1 ? "row" : "rows")}`;
    if (id === null) {
      number.textContent += `: ${notebookText("resultNotStored").replace("{bytes}", bytes(result.mostBytes))}`;
      continue;
    }
    for (const [format, name] of FORMATS) {
      const link = links.appendChild(document.createElement("a"));
      link.href = apiAddress("result/file", { id, format });
      link.download = `result.${format}`;
      link.textContent = name;
      link.setAttribute("aria-label", `${label} ${name}`);
    }
  }
  section.append(links);
  return () => {
    for (const end of ends) end();
  };
}
