import { useEffect, useRef } from "preact/hooks";
import type { MissingReport, MonthReport } from "../../page-data.js";
import { addressOf } from "../address/address.js";
import { Link } from "../address/link.js";
import { Command } from "../command.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { text } from "../texts.js";

/** The days that are missing in a month, and the command that requests them. */
export function MissingList({ month, close }: { readonly month: MonthReport; readonly close: () => void }) {
  const { dataset, region, month: name } = month;
  const { value, fault } = useJson<MissingReport>(
    useStateAddress("missing", { dataset, region, month: name }),
  );
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [month]);
  return (
    <section
      class="missing"
      aria-labelledby="missing"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <header>
        <h3 id="missing" tabIndex={-1} ref={heading}>
          {dataset} · {region} · {name}
        </h3>
        <button type="button" class="close" onClick={close} aria-label={text("close")}>
          ×
        </button>
      </header>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value === undefined && fault === undefined && <p class="quiet">{text("loading")} …</p>}
      {value?.total === 0 && month.asked !== null && <p>{text("nothingMissing")}</p>}
      {month.asked === null && (
        <p>
          {text("notCompared")}{" "}
          <Link to={addressOf(rulePath(dataset), daysOf(month))}>{text("withoutBars")}</Link>
        </p>
      )}
      {value !== undefined && value.total > 0 && (
        <>
          <p>
            <b>{count(value.total)}</b> {text("missing")}. {text("repairs")}{" "}
            <Command command={value.command} />
          </p>
          <div class="table" tabIndex={0} role="region" aria-labelledby="missing">
            <table>
              <thead>
                <tr>
                  <th scope="col">{text("symbol")}</th>
                  <th scope="col" class="n">
                    {text("days")}
                  </th>
                  <th scope="col">{text("from")}</th>
                  <th scope="col">{text("to")}</th>
                  <th scope="col">{text("why")}</th>
                </tr>
              </thead>
              <tbody>
                {value.symbols.map((one) => (
                  <tr key={one.symbol}>
                    <th scope="row">
                      <Link to={addressOf(`/instrument/${encodeURIComponent(one.symbol)}`)}>
                        {one.symbol}
                      </Link>
                    </th>
                    <td class="n">{one.days}</td>
                    <td>{one.first}</td>
                    <td>{one.last}</td>
                    <td>{text(one.isOpen ? "open" : "gap")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}

/** The address of the rule that finds sessions without bars in a table, with or without requests. */
function rulePath(dataset: string): string {
  return `/quality/${dataset === "bars_1m" ? "missing_sessions" : "missing_days"}`;
}

/** The filter of that rule by the region and the days of a month. */
function daysOf({ region, month }: MonthReport): Readonly<Record<string, string>> {
  const [year = 0, number = 0] = month.split("-").map(Number);
  const last = new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
  return { region, from: `${month}-01`, to: last };
}
