import { systemClock } from "../../client/system-clock.js";
import { expectedRows } from "../../jobs/ingest/bars-demand.js";
import { planPipeline, type RunOptions } from "../../jobs/ingest/run-pipeline.js";
import { loadPipeline } from "../../jobs/load-pipeline.js";
import type { Pipeline } from "../../jobs/pipeline.js";
import type { Lake } from "../../lake/lake.js";
import type { RequestUnit } from "../../plan/request-units.js";
import type { Cli } from "../cli.js";
import { type DemandOptions, demandOf, demandOptions } from "../demand-options.js";
import { EXIT } from "../exit-codes.js";
import { type CommonOptions, jsonOption, lakeOption, openLake, printJson } from "../lake-option.js";
import { count, paint, plural, table } from "../text.js";

export function addPlan(cli: Cli): void {
  demandOptions(cli.program.command("plan"))
    .description("show what a pipeline would ask for; sends nothing")
    .addOption(lakeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
Examples:
  barlake plan daily
  barlake plan minute --from 2026-01-01 --symbols 600519.SH,000001.SZ`,
    )
    .action((name: string, options: DemandOptions & CommonOptions) =>
      cli.action(async () =>
        printPlan(await loadPipeline(name), await demandOf(options), openLake(options), options),
      ),
    );
}

/** Prints what a pipeline would ask for, by region. */
export async function printPlan(
  pipeline: Pipeline,
  demand: RunOptions,
  lake: Lake,
  options: CommonOptions,
): Promise<number> {
  const units = await planPipeline(pipeline, demand, { lake, clock: systemClock });
  if (units === undefined || pipeline.kind !== "bars") {
    process.stdout.write(
      `${pipeline.name}: its requests follow from the service's answers; only bars can be planned ahead\n`,
    );
    return EXIT.done;
  }
  const byRegion = groupByRegion(units);
  const rows = [...byRegion].map(([region, group]) => ({
    region,
    requests: group.length,
    symbols: new Set(group.flatMap((unit) => unit.symbols)).size,
    windows: new Set(group.map((unit) => unit.window.start)).size,
    bars: expectedRows(group, pipeline.period),
  }));
  if (options.json) printJson({ pipeline: pipeline.name, requests: units.length, regions: rows });
  else {
    process.stdout.write(
      `${paint("bold", pipeline.name)}: ${plural(units.length, "request")}; nothing was sent\n`,
    );
    if (units.length === 0) process.stdout.write("the lake has it all\n");
    else {
      const cells = rows.map((r) => [
        r.region,
        count(r.requests),
        count(r.symbols),
        count(r.windows),
        count(r.bars),
      ]);
      process.stdout.write(`${table(["region", "requests", "symbols", "windows", "bars at most"], cells)}\n`);
    }
  }
  return EXIT.done;
}

function groupByRegion(units: readonly RequestUnit[]): Map<string, RequestUnit[]> {
  const groups = new Map<string, RequestUnit[]>();
  for (const unit of units) groups.set(unit.region, [...(groups.get(unit.region) ?? []), unit]);
  return groups;
}
