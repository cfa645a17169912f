import type { StatementsReport } from "../../page-data.js";
import { change } from "../address.js";
import { FaultBox, Missing } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { percent } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { Table } from "../table.js";
import { isChinese, text } from "../texts.js";

const CHINESE: Readonly<Record<string, string>> = {
  period_end: "报告期",
  known_from: "获知日",
  revenue: "营业收入",
  net_income_attributable: "归母净利润",
  gross_margin: "毛利率",
  net_operating_cash_flow: "经营现金流净额",
  free_cash_flow: "自由现金流",
  total_assets: "总资产",
  total_liabilities: "总负债",
  book_value: "净资产",
  debt_to_assets: "资产负债率",
};

function statementName(column: string): string {
  return (isChinese ? CHINESE[column] : undefined) ?? column.replaceAll("_", " ");
}

/** Statements as they were known at the end of a day: those that a backtest of that day may use. */
export function StatementsTable({
  symbol,
  known,
}: {
  readonly symbol: string;
  readonly known: string | undefined;
}) {
  const { value, fault } = useJson<StatementsReport>(useStateAddress("statements", { symbol, known }));
  return (
    <section aria-labelledby="statements">
      <header>
        <h2 id="statements">{text("statements")}</h2>
        <label class="quiet">
          {text("statementsNote")}{" "}
          <input
            type="date"
            value={known ?? ""}
            onChange={(event) => change({ known: event.currentTarget.value || undefined })}
          />
        </label>
        {known !== undefined && (
          <button type="button" onClick={() => change({ known: undefined })}>
            {text("today")}
          </button>
        )}
      </header>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value?.rows.length === 0 && <Missing why={text("noStatements")} next={text("noStatementsHint")} />}
      {value !== undefined && value.rows.length > 0 && (
        <>
          <p class="quiet">{text("millions")}</p>
          <Table
            of="statements"
            head={value.columns.map(({ name }) => statementName(name))}
            numbers={value.columns.flatMap(({ unit }, at) => (unit === "date" ? [] : [at]))}
          >
            <tbody>
              {value.rows.map((row) => (
                <tr key={String(row[0])}>
                  {row.map((cell, at) => (
                    <td key={value.columns[at]?.name} class={value.columns[at]?.unit === "date" ? "" : "n"}>
                      {cellText(cell, value.columns[at]?.unit)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </Table>
        </>
      )}
    </section>
  );
}

function cellText(value: number | string | null, unit: string | undefined): string {
  if (value === null) return "·";
  if (typeof value === "string") return value;
  if (unit === "ratio") return percent(value);
  const [unitOf, digits] = isChinese ? [1e8, 2] : [1e6, 1];
  return (value / unitOf).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
