import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import type { Region } from "../../../market/regions.js";
import type { TableSchema } from "../../../schema/column.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../../schema/reference.js";
import { type KnownList, knownLists } from "../../ledger/known-lists.js";
import type { Pipeline } from "../../pipeline/definition.js";

/** A list that a run's symbols come from. */
export interface RunList extends KnownList {
  /** Whether its first snapshot was taken during the run. */
  readonly isNew: boolean;
}

/** The parts of a run that are needed to read the lists. */
interface RunParts {
  readonly session: Session;
  readonly lake: Lake;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** The part of a run's demand that decides where the symbols come from. */
interface Demand {
  readonly symbols?: readonly string[] | undefined;
  readonly universes?: readonly string[] | undefined;
  readonly regions?: readonly Region[] | undefined;
  readonly repair?: boolean | undefined;
}

/**
 * The lists that a run's symbols come from: all lists for reference data, the chosen universes, or the instruments of
 * the regions. There are none for named symbols, for gaps of earlier requests, and for universes that are requested as
 * a whole.
 */
export async function runLists(run: RunParts, pipeline: Pipeline, demand: Demand): Promise<RunList[]> {
  const found: KnownList[] = [];
  for (const { table, ...choice } of choicesOf(pipeline, demand)) {
    const files = run.lake.filesOf(await run.lake.snapshot(table));
    const relation = `(${await parquetRelation(run.session, files)})`;
    found.push(...(await knownLists(run.session, { table, relation, ...choice })));
  }
  return found.map((list) => ({ ...list, isNew: list.firstSeenAt >= run.startedAt }));
}

interface Choice {
  readonly table: TableSchema;
  readonly regions?: readonly Region[] | undefined;
  readonly ids?: readonly string[] | undefined;
}

function choicesOf(pipeline: Pipeline, { symbols, universes, regions, repair }: Demand): Choice[] {
  if (pipeline.kind === "reference") return [{ table: INSTRUMENTS }, { table: UNIVERSE_MEMBERS }];
  if (pipeline.kind === "intraday" || pipeline.kind === "files" || symbols || repair) return [];
  if (universes) return [{ table: UNIVERSE_MEMBERS, ids: universes }];
  return [{ table: INSTRUMENTS, regions: regions ?? pipeline.regions }];
}
