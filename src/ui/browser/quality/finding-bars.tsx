import type { EvidenceReport, FindingReport } from "../../quality/quality-data.js";
import { addressOf } from "../address/address.js";
import { Link } from "../address/link.js";
import { Command } from "../command.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { useStateAddress } from "../lake-state.js";
import { CellText, ColumnHead } from "./cell-text.js";
import { FindingChart } from "./finding-chart.js";
import { qualityText } from "./quality-texts.js";

/** The bars of a finding: as a chart, as values, and with the commands about them. */
export function FindingBars({
  finding,
  subject,
}: {
  readonly finding: FindingReport;
  readonly subject: string;
}) {
  const { evidence, first, last, at, repairs, explains } = finding;
  const address = useStateAddress("quality/evidence", {
    subject,
    evidence,
    first: first ?? undefined,
    last: last ?? undefined,
    at: at ?? undefined,
  });
  const isShown = evidence !== "none" && first !== null;
  const { value, fault } = useJson<EvidenceReport>(isShown ? address : undefined);
  return (
    <section class="finding" aria-label={`${subject} ${first ?? ""}`}>
      {isShown ? (
        <>
          {fault !== undefined && <FaultBox fault={fault} />}
          {value === undefined && fault === undefined && (
            <div class="hollow" style="height:420px" aria-busy="true" />
          )}
          {value !== undefined && (
            <>
              <FindingChart subject={subject} finding={finding} evidence={value} />
              <Values report={value} />
            </>
          )}
        </>
      ) : (
        <p class="empty">{qualityText(evidence === "none" ? "noEvidence" : "noDay")}</p>
      )}
      <p class="commands">
        {repairs !== null && (
          <>
            {qualityText("repairs")} <Command command={repairs} />{" "}
          </>
        )}
        {qualityText("explains")} <Command command={explains} />
      </p>
    </section>
  );
}

function Values({ report: { columns, rows, hasMore } }: { readonly report: EvidenceReport }) {
  return (
    <>
      <h2 id="values">{qualityText("values")}</h2>
      {hasMore && <p class="quiet">{qualityText("hasMore")}</p>}
      <div class="table values" tabIndex={0} role="region" aria-labelledby="values">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden">{qualityText("inQuestion")}</span>
              </th>
              {columns.map((column, nth) => (
                <ColumnHead
                  key={column.name}
                  column={column}
                  values={rows.map(({ values }) => values[nth])}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ values, isInQuestion }, at) => {
              const isEmpty = values.slice(1).every((value) => value === null || value === 0);
              return (
                <tr key={at} class={isInQuestion ? "question" : ""}>
                  <td>
                    {isInQuestion && (
                      <>
                        <span aria-hidden="true">▶</span>
                        <span class="hidden">{qualityText("inQuestion")}</span>
                      </>
                    )}
                  </td>
                  {isEmpty ? (
                    <>
                      <CellText value={values[0] ?? null} />
                      <td colSpan={columns.length - 1} class="quiet">
                        {qualityText("noBar")}
                      </td>
                    </>
                  ) : (
                    values.map((value, nth) => <CellText key={nth} value={value} />)
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** A link to the instrument of a finding. */
export function InstrumentLink({ symbol }: { readonly symbol: string }) {
  return (
    <Link to={addressOf(`/instrument/${encodeURIComponent(symbol)}`)}>{qualityText("toInstrument")}</Link>
  );
}
