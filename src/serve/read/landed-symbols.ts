import { readColumns } from "../../arrow/scan/result-columns.js";
import { jsonParameter } from "../../db/session/json-parameter.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { demandsOf, requestedSql } from "../klines/requested-bars.js";
import type { LakeVersion } from "./lake-version.js";

/** The symbols that have a row in a table, at any time. */
export async function landedSymbols(
  version: LakeVersion,
  snapshot: Snapshot,
  symbols: readonly string[],
): Promise<Set<string>> {
  const { files, requested } = demandsOf(snapshot, symbols);
  if (files.length === 0) return new Set();
  const { columns } = await version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    const sql = `WITH ${requestedSql("$requested")} SELECT DISTINCT position FROM (${relation}) JOIN requested USING (symbol)`;
    return readColumns(await session.run(sql, { requested: jsonParameter(requested) }), {
      position: "int32",
    });
  });
  return new Set(Array.from(columns.position.values, (position) => symbols[position] as string));
}
