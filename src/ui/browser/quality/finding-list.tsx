import type { FindingReport, FindingsReport } from "../../quality/quality-data.js";
import { change, useAddress } from "../address/address.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { useStateAddress } from "../lake-state.js";
import { CellText, ColumnHead } from "./cell-text.js";
import { FindingBars } from "./finding-bars.js";
import { Pager } from "./pager.js";
import { qualityText, whyNone } from "./quality-texts.js";

/** The findings of a rule about one symbol, and the bars of the chosen one. */
export function FindingList({ rule, subject }: { readonly rule: string; readonly subject: string }) {
  const { query } = useAddress();
  const [from, to, page] = ["from", "to", "page"].map((name) => query.get(name));
  const { value, fault } = useJson<FindingsReport>(
    useStateAddress("quality/findings", { rule, subject, from, to, page }),
  );
  const wanted = query.get("finding");
  const rows = value?.rows ?? [];
  const chosen = rows.find((row) => keyOf(row) === wanted) ?? rows[0];
  return (
    <>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value === undefined && fault === undefined && (
        <div class="hollow" style="height:420px" aria-busy="true" />
      )}
      {value?.total === 0 && <p class="empty">{whyNone(value)}</p>}
      {value !== undefined && chosen !== undefined && (
        <>
          <FindingBars key={keyOf(chosen)} finding={chosen} subject={subject} />
          <h2 id="findings">{qualityText("findingsTitle")}</h2>
          <p class="quiet">{qualityText("choose")}</p>
          <div class="table whole" tabIndex={0} role="region" aria-labelledby="findings">
            <table class="findings">
              <thead>
                <tr>
                  <th scope="col">
                    <span class="hidden">{qualityText("choose")}</span>
                  </th>
                  {value.columns.map((column, nth) => (
                    <ColumnHead
                      key={column.name}
                      column={column}
                      values={rows.map((row) => row.values[nth])}
                    />
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row, at) => (
                  <tr key={`${keyOf(row)} ${at}`} class={row === chosen ? "chosen" : ""}>
                    <td>
                      <button
                        type="button"
                        aria-pressed={row === chosen}
                        onClick={() => change({ finding: keyOf(row) })}
                      >
                        {row.first ?? "·"}
                      </button>
                    </td>
                    {row.values.map((cell, nth) => (
                      <CellText key={nth} value={cell} unit={value.columns[nth]?.unit ?? null} />
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <Pager list={value} />
        </>
      )}
    </>
  );
}

/** The text that identifies a finding in the address. */
function keyOf({ dataset, first, last, at }: FindingReport): string {
  return [dataset, first, last, at].map((part) => part ?? "").join("_");
}
