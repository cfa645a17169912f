import { LakeError, UsageError } from "../../core/errors.js";
import type { Lake, ReplacedTable } from "../../lake/lake.js";
import type { Fence } from "../../lake/log/fence.js";
import type { RunSubject } from "../../lake/requests/run-lease.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { TABLES } from "../../schema/tables.js";
import type { ImportTable } from "../import/import-options.js";
import type { Pipeline } from "../pipeline/definition.js";

/** The caller's options, in addition to the pipeline's definition. */
export interface RunOptions {
  /** First date, instead of the date in the pipeline. */
  readonly from?: string | undefined;
  /** The date after the last requested date. @default everything up to now */
  readonly to?: string | undefined;
  /** Symbols, instead of the lake's instruments. */
  readonly symbols?: readonly string[] | undefined;
  /**
   * Ids of universes. Bars and statements are requested of their members, intraday bars of each universe as a whole.
   */
  readonly universes?: readonly string[] | undefined;
  /** Regions, instead of the regions in the pipeline. */
  readonly regions?: readonly Region[] | undefined;
  /** Number of last trading days that are requested again, instead of the number in the pipeline. */
  readonly lookbackDays?: number | undefined;
  /** Whether only gaps are filled: windows that earlier requests left open, for their symbols. @default false */
  readonly repair?: boolean | undefined;
}

type DemandOption = keyof RunOptions;

const TAKEN: Readonly<Record<Pipeline["kind"], readonly DemandOption[]>> = {
  reference: [],
  bars: ["from", "to", "symbols", "universes", "regions", "lookbackDays", "repair"],
  intraday: ["universes"],
  statements: ["symbols", "universes", "regions"],
  files: [],
};

/** The options whose place earlier requests take where only gaps are filled. */
const NOT_TO_REPAIR: readonly DemandOption[] = ["from", "to", "symbols", "universes", "lookbackDays"];

const WORDS: Readonly<Record<DemandOption, string>> = {
  from: "a first date",
  to: "a last date",
  symbols: "symbols",
  universes: "universes",
  regions: "regions",
  lookbackDays: "days to look back",
  repair: "repair",
};

/**
 * The demand: the caller's options, else the values of the pipeline.
 *
 * @throws {UsageError} for an empty list, with which a run would request nothing and seem complete; for options that the
 *   pipeline would not follow; and for two options of which it would follow only one.
 */
export function demandOf(pipeline: Pipeline, options: RunOptions): RunOptions {
  const run = `run ${pipeline.name}`;
  const isGiven = (name: DemandOption): boolean => options[name] !== undefined && options[name] !== false;
  for (const name of ["symbols", "universes", "regions"] as const)
    if (options[name]?.length === 0)
      throw new UsageError(`${run}: the list of ${name} is empty`, {
        hint: `leave it out to request what the pipeline names`,
      });
  const taken = TAKEN[pipeline.kind];
  const unused = (Object.keys(WORDS) as DemandOption[]).find(
    (name) => isGiven(name) && !taken.includes(name),
  );
  if (unused !== undefined)
    throw new UsageError(`${run}: ${WORDS[unused]} cannot be given to a pipeline of ${pipeline.kind}`, {
      hint:
        taken.length === 0
          ? pipeline.kind === "files"
            ? "it lands all files that are new or changed"
            : "it requests all that the service has"
          : `it takes ${taken.map((name) => WORDS[name]).join(", ")}`,
    });
  if (options.symbols && options.universes)
    throw new UsageError(`${run}: symbols and universes are both given`, { hint: "name one of the two" });
  if (options.symbols && options.regions)
    throw new UsageError(`${run}: symbols and regions are both given`, {
      hint: "leave the regions out: each symbol is of one",
    });
  const isNoLookback = (name: DemandOption): boolean => name === "lookbackDays" && options[name] === 0;
  const instead = options.repair
    ? NOT_TO_REPAIR.find((name) => isGiven(name) && !isNoLookback(name))
    : undefined;
  if (instead !== undefined)
    throw new UsageError(`${run}: repair and ${WORDS[instead]} are both given`, {
      hint: "repair fills the gaps of what was requested before: leave one of the two out",
    });
  const { symbols, universes } =
    pipeline.kind === "bars" || pipeline.kind === "statements"
      ? pipeline
      : { symbols: undefined, universes: undefined };
  const which = options.symbols || options.universes ? {} : { symbols, universes };
  return { ...options, ...which, to: options.to ?? (pipeline.kind === "bars" ? pipeline.to : undefined) };
}

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
