import { isSymbol } from "../../../market/symbol.js";
import type { ListPage, SubjectReport } from "../../quality/quality-data.js";
import { addressOf, change, pathPart, textOfPart, useAddress } from "../address.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { text } from "../texts.js";
import { FindingList, InstrumentLink } from "./finding-list.js";
import { Pager } from "./pager.js";
import { qualityText, ruleTitle, subjectName, whyNone } from "./quality-texts.js";
import { RegionChoice, RuleList } from "./rule-list.js";

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

/**
 * The findings: all rules, or the symbols of one rule, or the findings of one rule about one symbol with their bars.
 */
export function QualityView() {
  const [, , rule = "", subject = ""] = useAddress().path.split("/").map(textOfPart);
  document.title = `${rule === "" ? qualityText("quality") : ruleTitle(rule)} ${subject} · barlake`;
  if (rule === "")
    return (
      <>
        <h1 id="quality" class="hidden">
          {qualityText("quality")}
        </h1>
        <p class="quiet">{qualityText("note")}</p>
        <RuleList />
      </>
    );
  return (
    <>
      <nav class="crumbs" aria-label={qualityText("quality")}>
        <Link to={addressOf("/quality")}>{qualityText("back")}</Link>
        {subject !== "" && (
          <>
            {" › "}
            <Link to={addressOf(`/quality/${rule}`)}>{ruleTitle(rule)}</Link>
          </>
        )}
      </nav>
      <header class="title">
        <h1 id="rule">{subject === "" ? ruleTitle(rule) : subjectName(subject)}</h1>
        {subject !== "" && <span class="quiet">{ruleTitle(rule)}</span>}
        {isSymbol(subject) && <InstrumentLink symbol={subject} />}
      </header>
      {subject === "" ? (
        <SubjectList key={rule} rule={rule} />
      ) : (
        <FindingList key={`${rule} ${subject}`} rule={rule} subject={subject} />
      )}
    </>
  );
}
