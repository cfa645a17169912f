import { isSymbol } from "../../../market/symbol.js";
import { addressOf, useAddress } from "../address/address.js";
import { Link } from "../address/link.js";
import { textOfPart } from "../address/path-part.js";
import { InstrumentLink } from "./finding-bars.js";
import { FindingList } from "./finding-list.js";
import { qualityText, ruleTitle, subjectName } from "./quality-texts.js";
import { RuleList } from "./rule-list.js";
import { SubjectList } from "./subject-list.js";

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
