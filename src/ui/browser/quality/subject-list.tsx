import type { ListPage, SubjectReport } from "../../quality/quality-data.js";
import { addressOf, change, useAddress } from "../address/address.js";
import { Link } from "../address/link.js";
import { pathPart } from "../address/path-part.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { text } from "../texts.js";
import { Pager } from "./pager.js";
import { qualityText, subjectName, whyNone } from "./quality-texts.js";
import { RegionChoice } from "./rule-list.js";

/** The symbols about which a rule has findings, those with the most findings first. */
export function SubjectList({ rule }: { readonly rule: string }) {
  const { query } = useAddress();
  const filter = Object.fromEntries(
    ["region", "symbol", "from", "to", "page"].map((name) => [name, query.get(name)]),
  );
  const { value, fault } = useJson<ListPage<SubjectReport>>(
    useStateAddress("quality/subjects", { rule, ...filter }),
  );
  const shared = Object.fromEntries(
    ["from", "to"].flatMap((name) =>
      query.get(name) === undefined ? [] : [[name, query.get(name) as string]],
    ),
  );
  const set = (name: string) => (event: { currentTarget: HTMLInputElement }) =>
    change({ [name]: event.currentTarget.value || undefined, page: undefined });
  return (
    <>
      <form class="filters" aria-label={qualityText("filter")} onSubmit={(event) => event.preventDefault()}>
        <RegionChoice region={query.get("region") ?? ""} />
        <label>
          {qualityText("symbolPart")}
          <input type="text" size={10} value={query.get("symbol") ?? ""} onChange={set("symbol")} />
        </label>
        {(["from", "to"] as const).map((name) => (
          <label key={name}>
            {text(name)}
            <input type="date" value={query.get(name) ?? ""} onChange={set(name)} />
          </label>
        ))}
      </form>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value === undefined && fault === undefined && (
        <div class="hollow" style="height:300px" aria-busy="true" />
      )}
      {value?.total === 0 && <p class="empty">{whyNone(value)}</p>}
      {value !== undefined && value.total > 0 && (
        <>
          <p class="quiet">{qualityText("worst")}</p>
          <div class="table whole" tabIndex={0} role="region" aria-labelledby="rule">
            <table>
              <thead>
                <tr>
                  <th scope="col">{text("symbol")}</th>
                  <th scope="col">{qualityText("region")}</th>
                  <th scope="col" class="n">
                    {qualityText("findings")}
                  </th>
                  <th scope="col">{text("from")}</th>
                  <th scope="col">{text("to")}</th>
                </tr>
              </thead>
              <tbody>
                {value.rows.map((one) => (
                  <tr key={`${one.subject} ${one.region}`}>
                    <th scope="row">
                      <Link to={addressOf(`/quality/${rule}/${pathPart(one.subject)}`, shared)}>
                        {subjectName(one.subject)}
                      </Link>
                    </th>
                    <td>{one.region ?? "·"}</td>
                    <td class="n">{count(one.findings)}</td>
                    <td>{one.first ?? "·"}</td>
                    <td>{one.last ?? "·"}</td>
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
