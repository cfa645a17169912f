import { LakeError } from "../../core/errors.js";
import type { Lake, ReplacedTable } from "../../lake/lake.js";
import type { Fence } from "../../lake/log/fence.js";
import type { RunSubject } from "../../lake/requests/run-lease.js";
import { regionOf } from "../../market/symbol.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { TABLES } from "../../schema/tables.js";
import type { ImportTable } from "../import/import-options.js";
import type { Pipeline } from "../pipeline/definition.js";
import type { RunOptions } from "./run-demand.js";

/** What a run of a pipeline requests, and the tables in which it lands, except the tables about runs. */
export function runSubject(pipeline: Pipeline, options: RunOptions): Omit<RunSubject, "runId"> {
  const subject = { pipeline: pipeline.name, regions: regionsOf(pipeline, options) };
  switch (pipeline.kind) {
    case "reference":
      return {
        ...subject,
        asks: ["reference"],
        tables: namesOf([EXCHANGES, INSTRUMENTS, UNIVERSES, UNIVERSE_MEMBERS, REQUESTS]),
      };
    case "bars": {
      const isDaily = pipeline.period === "1d";
      const table = isDaily ? BARS_1D : BARS_1M;
      const derived = isDaily ? [TRADING_DAYS, ABSENCES_1D] : [TRADING_DAYS];
      const asked = namesOf(pipeline.exFactors ? [table, EX_FACTORS] : [table]);
      return { ...subject, asks: asked, tables: [...asked, ...namesOf([...derived, REQUESTS])] };
    }
    case "intraday":
      return { ...subject, asks: ["intraday"], tables: namesOf([BARS_1M, REQUESTS]) };
    case "statements":
      return { ...subject, asks: pipeline.tables, tables: [...pipeline.tables, REQUESTS.name] };
    case "files":
      return {
        ...subject,
        asks: [`files of ${pipeline.table}`],
        tables: [...namesOf(tablesOfFiles(pipeline.table)), REQUESTS.name],
      };
  }
}

/** The tables in which a run of a pipeline lands, and the table of runs. */
export function runTables(pipeline: Pipeline): readonly TableSchema[] {
  const { tables } = runSubject(pipeline, {});
  return TABLES.filter((table) => table === RUNS || tables.includes(table.name));
}

/** The regions that a run requests; undefined where it may be all regions. */
function regionsOf(pipeline: Pipeline, options: RunOptions): readonly string[] | undefined {
  if (pipeline.kind !== "bars" && pipeline.kind !== "statements") return undefined;
  const { symbols, universes } = options.symbols || options.universes ? options : pipeline;
  if (options.regions !== undefined) return options.regions;
  if (universes !== undefined) return undefined;
  if (symbols === undefined) return pipeline.regions;
  const regions = symbols.map(regionOf);
  return regions.includes(undefined) ? undefined : [...new Set(regions as string[])];
}

/** The tables in which files of a table land: its own, and those that follow from it. */
function tablesOfFiles(table: ImportTable): readonly { readonly name: string }[] {
  if (table === "bars_1d") return [BARS_1D, TRADING_DAYS, ABSENCES_1D, CORPORATE_ACTIONS];
  if (table === "instruments") return [INSTRUMENTS, EXCHANGES];
  return table === "universes" ? [UNIVERSES, UNIVERSE_MEMBERS] : [{ name: table }];
}

function namesOf(tables: readonly { readonly name: string }[]): string[] {
  return tables.map(({ name }) => name);
}

/**
 * The right of a run to request and to land: that of its lease, as long as the lake is the one of its plan. Where a table
 * is found replaced, the run ends: what it has planned and recorded is about the rows of the former lake.
 *
 * @param tables those in which the run lands.
 */
export async function inOneLake(
  lake: Lake,
  tables: readonly TableSchema[],
  lease: Fence,
): Promise<Fence & Disposable> {
  // A table that was replaced before is noticed now. One that cannot be read is reported by what needs it.
  await Promise.allSettled(tables.map((table) => lake.snapshot(table)));
  let replaced: ReplacedTable | undefined;
  const end = lake.onReplaced((one) => {
    if (tables.some(({ name }) => name === one.table)) replaced ??= one;
  });
  return {
    id: lease.id,
    async confirm() {
      if (replaced !== undefined)
        throw new LakeError(`table ${replaced.table}: was replaced, as by a backup, while the run worked`, {
          hint: "run it again: it then begins with what the lake has now",
        });
      await lease.confirm();
    },
    [Symbol.dispose]: end,
  };
}
