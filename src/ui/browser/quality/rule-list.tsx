import type { RuleReport, RulesReport } from "../../quality/quality-data.js";
import { addressOf, change, useAddress } from "../address.js";
import { Command, FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { useShownState } from "../lake-state.js";
import { Link } from "../link.js";
import { qualityText, ruleMeaning, ruleTitle } from "./quality-texts.js";
import { type CountState, findingsIn, useRuleCounts, worstFirst } from "./rule-counts.js";

const REGIONS = ["CN", "HK", "US", "-"];

/** All rules with the numbers of their findings by region, the worst first. */
export function RuleList() {
  const { value, fault } = useJson<RulesReport>("/api/quality/rules");
  const { report } = useShownState();
  const { counts, again } = useRuleCounts(value?.rules, report?.state);
  const region = useAddress().query.get("region") ?? "";
  const shown = region === "" ? REGIONS : [region];
  return (
    <>
      {fault !== undefined && <FaultBox fault={fault} />}
      <form class="filters" aria-label={qualityText("filter")} onSubmit={(event) => event.preventDefault()}>
        <RegionChoice region={region} />
      </form>
      {value === undefined ? (
        fault === undefined && <div class="hollow" style="height:420px" aria-busy="true" />
      ) : (
        <div class="table whole" tabIndex={0} role="region" aria-labelledby="quality">
          <table class="rules">
            <thead>
              <tr>
                <th scope="col">{qualityText("rule")}</th>
                {shown.map((one) => (
                  <th scope="col" class="n" key={one}>
                    {one === "-" ? qualityText("other") : one}
                  </th>
                ))}
                <th scope="col" class="n wide">
                  {qualityText("subjects")}
                </th>
                <th scope="col" class="wide">
                  {qualityText("days")}
                </th>
              </tr>
            </thead>
            <tbody>
              {worstFirst(value.rules, counts, region).map((rule) => (
                <RuleRow
                  key={rule.name}
                  rule={rule}
                  state={counts.get(rule.name)}
                  regions={shown}
                  again={() => again(rule.name)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {value !== undefined && (
        <p class="quiet commands">
          {qualityText("runAll")} <Command command={value.command} /> {qualityText("damage")}{" "}
          <Command command={value.damage} />
        </p>
      )}
    </>
  );
}

export function RegionChoice({ region }: { readonly region: string }) {
  return (
    <label>
      {qualityText("region")}
      <select
        value={region}
        onChange={(event) => change({ region: event.currentTarget.value || undefined, page: undefined })}
      >
        <option value="">{qualityText("all")}</option>
        {REGIONS.map((one) => (
          <option key={one} value={one}>
            {one === "-" ? qualityText("other") : one}
          </option>
        ))}
      </select>
    </label>
  );
}

function RuleRow({
  rule,
  state = { kind: "waiting" },
  regions,
  again,
}: {
  readonly rule: RuleReport;
  readonly state: CountState | undefined;
  readonly regions: readonly string[];
  readonly again: () => void;
}) {
  const { name, severity, explanation } = rule;
  const total = regions.reduce((sum, one) => sum + (findingsIn(state, one) ?? 0), 0);
  const path = `/quality/${name}`;
  const only = regions.length === 1 ? { region: regions[0] as string } : undefined;
  return (
    <tr>
      <th scope="row" class={total > 0 ? "" : "clean"}>
        {total > 0 ? <Link to={addressOf(path, only)}>{ruleTitle(name)}</Link> : ruleTitle(name)}{" "}
        <span class={total > 0 ? `severity ${severity}` : "severity"}>{qualityText(severity)}</span>
        <small class="doc">{ruleMeaning(name, explanation)}</small>
      </th>
      <Figures state={state} path={path} regions={regions} again={again} />
    </tr>
  );
}

function Figures({
  state,
  path,
  regions,
  again,
}: {
  readonly state: CountState;
  readonly path: string;
  readonly regions: readonly string[];
  readonly again: () => void;
}) {
  const width = regions.length + 2;
  if (state.kind === "waiting" || state.kind === "counting")
    return (
      <td colSpan={width} class="quiet">
        {qualityText(state.kind)} …
      </td>
    );
  if (state.kind === "fault")
    return (
      <td colSpan={width}>
        <FaultBox fault={state.fault} />
        <button type="button" onClick={again}>
          {qualityText("tryAgain")}
        </button>
      </td>
    );
  const { counts, unknown } = state.count;
  if (unknown !== null)
    return (
      <td colSpan={width} class="quiet why">
        {qualityText("unknown")}: {qualityText(unknown)}
      </td>
    );
  const own = counts.filter((one) => regions.includes(one.region ?? "-"));
  const ends = [own.map(({ first }) => first), own.map(({ last }) => last)].map((days) =>
    days.filter((day) => day !== null).sort(),
  );
  return (
    <>
      {regions.map((region) => {
        const found = own.find((one) => (one.region ?? "-") === region);
        return (
          <td class="n" key={region}>
            {found === undefined ? (
              <span class="quiet">0</span>
            ) : (
              <Link to={addressOf(path, { region })}>{count(found.findings)}</Link>
            )}
          </td>
        );
      })}
      <td class="n wide">{count(own.reduce((sum, { subjects }) => sum + subjects, 0))}</td>
      <td class="wide">{ends[0]?.[0] === undefined ? "·" : `${ends[0][0]} – ${ends[1]?.at(-1)}`}</td>
    </>
  );
}
