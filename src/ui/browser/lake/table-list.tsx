import type { LakeReport } from "../../page-data.js";
import { bytes, count, instant } from "../formats.js";
import { text } from "../texts.js";
import { translated } from "../translations.js";

/** The tables of the lake, with facts from their logs. */
export function TableList({ report: { tables, freeBytes } }: { readonly report: LakeReport }) {
  const all = tables.reduce((sum, table) => sum + table.bytes, 0);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const most = Math.max(...tables.map((table) => table.bytes), 1);
  return (
    <div class="table" tabIndex={0} role="region" aria-labelledby="tables">
      <table>
        <thead>
          <tr>
            <th scope="col">{text("table")}</th>
            <th scope="col" class="n">
              {text("rows")}
            </th>
            <th scope="col" class="n">
              {text("size")}
            </th>
            <th scope="col" class="n">
              {text("files")}
            </th>
            <th scope="col" class="n">
              {text("version")}
            </th>
            <th scope="col">{text("span")}</th>
            <th scope="col">{text("changed")} (UTC)</th>
          </tr>
        </thead>
        <tbody>
          {tables.map((table) => (
            <tr key={table.name}>
              <th scope="row" title={translated(table.doc)}>
                {table.name}
                <small class="doc">{translated(table.doc)}</small>
              </th>
              <td class="n">{count(table.rows)}</td>
              <td class="n">
                {bytes(table.bytes)}
                <i
                  class="meter"
                  style={`width:${Math.max(2, (table.bytes / most) * 100)}%`}
                  aria-hidden="true"
                />
              </td>
              <td class="n">{count(table.files)}</td>
              <td class="n">{table.version}</td>
              <td>{table.first === null ? "·" : `${table.first} – ${table.last}`}</td>
              <td>{table.committedAt === null ? "·" : instant(table.committedAt)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{text("total")}</th>
            <td class="n">{count(rows)}</td>
            <td class="n">{bytes(all)}</td>
            <td colSpan={4}>{freeBytes !== null && `${bytes(freeBytes)} ${text("free")}`}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
