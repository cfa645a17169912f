import type { Session } from "../../../db/session/session.js";
import { subjectOf } from "../../../schema/reference.js";
import type { Lake } from "../../lake.js";
import type { Snapshot } from "../../log/snapshot.js";
import { overlappingVersions } from "../overlapping-versions.js";
import type { ReadFile } from "./check-keys.js";
import type { Finding } from "./finding.js";

/** Finds subjects of a table of dated versions that have two versions at the same time. */
export async function checkVersions(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly ReadFile[],
): Promise<Finding[]> {
  const { table, version } = snapshot;
  const read = files.map(({ file }) => file);
  const { subjects, example } = await overlappingVersions(session, lake, snapshot, read);
  if (subjects === 0) return [];
  const which = `${subjects} ${subjects === 1 ? "subject" : "subjects"} (${subjectOf(table).join(", ")})`;
  return [
    {
      severity: "error",
      table: table.name,
      version,
      rule: "versions_overlap",
      message: `${table.name}: ${which} with two versions at the same time, or a version twice: ${example}`,
      hint: `barlake repair ${table.name} keeps each version once and ends it where the next one begins`,
    },
  ];
}
