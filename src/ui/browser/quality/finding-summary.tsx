import type { RulesReport } from "../../quality/quality-data.js";
import { addressOf } from "../address.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { useShownState } from "../lake-state.js";
import { Link } from "../link.js";
import { qualityText, ruleMeaning, ruleTitle } from "./quality-texts.js";
import { findingsIn, useRuleCounts, worstFirst } from "./rule-counts.js";

/** The count of a rule ends after this time in milliseconds: a large lake must not be busy because its first view is open. */
const MOST_MS = 10_000;

/** The rules that have findings, the worst first, for the view Lake. */
export function FindingSummary() {
  const { value, fault } = useJson<RulesReport>("/api/quality/rules");
  const { report } = useShownState();
  const { counts } = useRuleCounts(value?.rules, report?.state, MOST_MS);
  if (fault !== undefined) return <FaultBox fault={fault} />;
  const rules = value?.rules ?? [];
  const found = worstFirst(rules, counts, "").filter(
    ({ name }) => (findingsIn(counts.get(name), "") ?? 0) > 0,
  );
  const ended = [...counts.values()].filter(({ kind }) => kind === "counted" || kind === "fault").length;
  const known = rules.filter(({ name }) => findingsIn(counts.get(name), "") !== undefined).length;
  const isDone = rules.length > 0 && ended === rules.length;
  const parts = [
    `${count(rules.length)} ${qualityText("rules")}`,
    `${count(found.length)} ${qualityText("withFindings")}`,
    ...(known < rules.length ? [`${count(rules.length - known)} ${qualityText("notKnown")}`] : []),
  ];
  return (
    <>
      <p class="quiet" role="status">
        {isDone ? parts.join(" · ") : `${qualityText("counting")} … ${ended} / ${rules.length}`}
        {isDone && " · "}
        {isDone && <Link to={addressOf("/quality")}>{qualityText("back")}</Link>}
      </p>
      <ul class="found-rules">
        {found.map(({ name, severity, explanation }) => (
          <li key={name} title={ruleMeaning(name, explanation)}>
            <Link to={addressOf(`/quality/${name}`)}>{ruleTitle(name)}</Link>{" "}
            <span class={`severity ${severity}`}>{qualityText(severity)}</span>{" "}
            <b>{count(findingsIn(counts.get(name), "") ?? 0)}</b>
          </li>
        ))}
      </ul>
    </>
  );
}
