import { isSymbol } from "../../../market/symbol.js";
import type { ListPage, SubjectReport } from "../../quality/quality-data.js";
import { addressOf, change, pathPart, textOfPart, useAddress } from "../address.js";
import { Loaded } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
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
  const subjects = useJson<ListPage<SubjectReport>>(useStateAddress("quality/subjects", { rule, ...filter }));
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
      <Loaded waiting={subjects} height={300}>
        {(value) =>
          value.total === 0 ? (
            <p class="empty">{whyNone(value)}</p>
          ) : (
            <>
              <p class="quiet">{qualityText("worst")}</p>
              <Table
                of="rule"
                kind="whole"
                head={[
                  text("symbol"),
                  qualityText("region"),
                  qualityText("findings"),
                  text("from"),
                  text("to"),
                ]}
                numbers={[2]}
              >
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
              </Table>
              <Pager list={value} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

/** All rules, or the symbols of one, or the findings of one about a symbol with their bars. */
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
