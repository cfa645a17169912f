import { limitsOf } from "../../../api/service/service-access.js";
import { systemClock } from "../../../client/system-clock.js";
import { groupBy } from "../../../core/group-by.js";
import { expectedRows } from "../../../jobs/ingest/bars/bars-demand.js";
import type { Pipeline } from "../../../jobs/pipeline/definition.js";
import { loadPipeline } from "../../../jobs/pipeline/load-pipeline.js";
import { demandOf as demandOfPipeline } from "../../../jobs/run/run-demand.js";
import { planPipeline, type RunOptions } from "../../../jobs/run/run-pipeline.js";
import type { Lake } from "../../../lake/lake.js";
import { type Cli, EXIT } from "../../cli.js";
import { jsonOption, lakeOption, openLake, printJson } from "../../options/lake-option.js";
import { usersPipelines } from "../../options/options.js";
import { rpmOption, type ServiceOptions, urlOption } from "../../options/service-option.js";
import { type DemandOptions, demandOf, demandOptions } from "../../options/symbols-option.js";
import { progressView } from "../../progress.js";
import { filesPlanText } from "../../reports/report-text.js";
import { count, duration, paint, plural, size, table } from "../../text.js";

/** Approximate size of a bar: as JSON on the wire, and in a compacted file. */
const WIRE_BYTES_PER_BAR = 58;
const LAKE_BYTES_PER_BAR = 12;

type PlanOptions = Pick<ServiceOptions, "lake" | "json" | "rpm" | "url">;

export function addPlan(cli: Cli): void {
  demandOptions(cli.program.command("plan"))
    .addOptions(urlOption(), rpmOption(), lakeOption(), jsonOption())
    .notes(`
Examples:
  barlake plan daily
  barlake plan minute --from 2025-11-01 --to 2026-11-01 --rpm 30
  barlake plan minute --from 2026-01-01 --symbols 600519.SH,000001.SZ`)
    .does(async (name: string, options: DemandOptions & PlanOptions) =>
      printPlan(
        await loadPipeline(name, usersPipelines()),
        await demandOf(options),
        openLake(options),
        options,
      ),
    );
}

export async function printPlan(
  pipeline: Pipeline,
  demand: RunOptions,
  lake: Lake,
  options: PlanOptions,
): Promise<number> {
  if (pipeline.kind === "files") {
    demandOfPipeline(pipeline, demand);
    const { planFiles } = await import("../../../jobs/files/plan-files.js");
    const plan = await planFiles(pipeline, { lake, clock: systemClock });
    if (options.json) printJson({ pipeline: pipeline.name, ...plan });
    else process.stdout.write(`${filesPlanText(pipeline.name, plan)}\n`);
    return EXIT.done;
  }
  const limits = options.url
    ? await limitsOf(lake, {
        url: options.url,
        apiKey: process.env.BARLAKE_API_KEY ?? "",
        environment: process.env,
        clock: systemClock,
      })
    : undefined;
  const view = progressView(pipeline.name, "text", "planning");
  const planned = planPipeline(pipeline, demand, { lake, clock: systemClock, ...(limits && { limits }) });
  const units = await planned.finally(() => view.stop());
  if (units === undefined || pipeline.kind !== "bars") {
    process.stdout.write(
      `${pipeline.name}: its requests follow from the service's responses; only bars can be planned ahead\n`,
    );
    return EXIT.done;
  }
  const rows = [...groupBy(units, ({ region }) => region)].map(([region, group]) => {
    const bars = expectedRows(group, pipeline.period);
    return {
      region,
      requests: group.length,
      symbols: new Set(group.flatMap((unit) => unit.symbols)).size,
      windows: new Set(group.map((unit) => unit.window.start)).size,
      bars,
      responseBytes: bars * WIRE_BYTES_PER_BAR,
      lakeBytes: bars * LAKE_BYTES_PER_BAR,
    };
  });
  const given = typeof options.rpm === "object" ? options.rpm.klines : options.rpm;
  const rpm = given ?? pipeline.quota?.requestsPerMinute ?? limits?.limits.requestsPerMinute?.klines;
  const minutes = rpm === undefined ? undefined : units.length / rpm;
  const ofFactors = units.filter(({ dataset }) => dataset === "ex_factors").length;
  const plan = {
    pipeline: pipeline.name,
    requests: units.length,
    factorRequests: ofFactors,
    requestsPerMinute: rpm,
    minutes,
    regions: rows,
  };
  if (options.json) {
    printJson(plan);
    return EXIT.done;
  }
  process.stdout.write(
    `${paint("bold", pipeline.name)}: ${plural(units.length, "request")}${ofFactors > 0 ? `, ${count(ofFactors)} of them for factors of ex-events` : ""}; nothing was sent\n`,
  );
  if (units.length === 0) {
    process.stdout.write("the lake has it all\n");
    return EXIT.done;
  }
  const cells = rows.map((r) => [
    r.region,
    count(r.requests),
    count(r.symbols),
    count(r.windows),
    count(r.bars),
    size(r.responseBytes),
    size(r.lakeBytes),
  ]);
  const quota =
    minutes === undefined
      ? `at 30 requests a minute ${duration((units.length / 30) * 60_000)}; give --rpm for the key's own quota`
      : `${duration(minutes * 60_000)} at ${rpm} requests a minute`;
  process.stdout.write(
    `${table(["region", "requests", "symbols", "windows", "bars at most", "responses", "in the lake"], cells)}\n${quota}\n`,
  );
  return EXIT.done;
}
