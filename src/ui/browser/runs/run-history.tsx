import { RUN_STATUSES } from "../../../schema/runs.js";
import type { RunReport } from "../../page-data.js";
import type { ListPage } from "../../quality/quality-data.js";
import { change, useAddress } from "../address.js";
import { Loaded, statusText } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { RunList } from "../lake/run-list.js";
import { useStateAddress } from "../lake-state.js";
import { Pager } from "../quality/pager.js";
import { runsText } from "./runs-texts.js";

/** The runs that have ended, the newest first, filtered by pipeline and status. */
export function RunHistory({ pipelines }: { readonly pipelines: readonly string[] }) {
  const { query } = useAddress();
  const [pipeline, status, page] = ["pipeline", "status", "page"].map((name) => query.get(name));
  const runs = useJson<ListPage<RunReport>>(useStateAddress("runs/list", { pipeline, status, page }));
  const choice = <Value extends string>(
    name: "pipeline" | "status",
    chosen: string | undefined,
    values: readonly Value[],
    textOf: (value: Value) => string,
  ) => (
    <label>
      {runsText(name)}
      <select
        value={chosen ?? ""}
        onChange={(event) => change({ [name]: event.currentTarget.value || undefined, page: undefined })}
      >
        <option value="">{runsText("allStatuses")}</option>
        {values.map((one) => (
          <option key={one} value={one}>
            {textOf(one)}
          </option>
        ))}
      </select>
    </label>
  );
  const isFiltered = pipeline !== undefined || status !== undefined;
  return (
    <>
      <form class="filters" aria-label={runsText("history")} onSubmit={(event) => event.preventDefault()}>
        {choice("pipeline", pipeline, pipelines, String)}
        {choice("status", status, RUN_STATUSES, statusText)}
      </form>
      <Loaded waiting={runs} height={200}>
        {(value) =>
          value.total === 0 ? (
            <p class="empty">{runsText(isFiltered ? "noneFits" : "noHistory")}</p>
          ) : (
            <>
              <RunList runs={value.rows} />
              <Pager list={value} />
            </>
          )
        }
      </Loaded>
    </>
  );
}
