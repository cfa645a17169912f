import { UsageError } from "../../core/errors.js";
import type { PointInTime } from "../../lake/lake.js";
import { TABLES } from "../../schema/tables.js";
import { epochMsOf, type TimeInput } from "../time-input.js";

/** The state of a lake that is read. @default the newest version of each table at the time of the call */
export interface LakeState {
  /** What was committed by then: epoch milliseconds, a Date, or ISO text; a text without zone is UTC. */
  readonly asOf?: TimeInput | undefined;
  /** Versions of single tables, by name; they take precedence over `asOf`. */
  readonly versions?: Readonly<Record<string, number>> | ReadonlyMap<string, number> | undefined;
}

/** The options as a state of the lake. @throws {UsageError} for an invalid time, an unknown table, or a version that is not an integer. */
export function pointInTimeOf({ asOf, versions = {} }: LakeState): PointInTime {
  const entries = [...(versions instanceof Map ? versions : Object.entries(versions))] as [string, number][];
  const names = TABLES.map(({ name }) => name);
  for (const [name, version] of entries) {
    if (!names.includes(name))
      throw new UsageError(`versions: there is no table ${JSON.stringify(name)}`, {
        hint: `tables: ${names.join(", ")}`,
      });
    if (!Number.isInteger(version) || version < 0)
      throw new UsageError(`versions.${name}: ${version} is not a whole number from 0`);
  }
  return {
    ...(asOf !== undefined && { asOf: epochMsOf("asOf", asOf) }),
    ...(entries.length > 0 && { versions: new Map(entries) }),
  };
}

/** Whether every table is read at its newest version. */
export function isNewest({ asOf, versions }: PointInTime): boolean {
  return asOf === undefined && versions === undefined;
}
