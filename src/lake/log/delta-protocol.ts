import { LakeError } from "../../core/errors.js";
import { type Action, type MetaData, PROTOCOL, type Protocol } from "./delta-actions.js";

/** Checks that a table needs only protocol versions and features that this program supports. @throws {LakeError} */
export function checkProtocol(table: string, protocol: Protocol): void {
  const { minReaderVersion: reader, minWriterVersion: writer } = protocol;
  const features = [...new Set([...(protocol.readerFeatures ?? []), ...(protocol.writerFeatures ?? [])])];
  const isKnown = reader <= PROTOCOL.minReaderVersion && writer <= PROTOCOL.minWriterVersion;
  if (isKnown && features.length === 0) return;
  const asked = features.length > 0 ? `, with the features ${features.join(", ")}` : "";
  throw new LakeError(
    `table ${table}: its log asks for reader version ${reader} and writer version ${writer}${asked}; this version knows ${PROTOCOL.minReaderVersion} and ${PROTOCOL.minWriterVersion}, without features`,
    { hint: "another program has upgraded the table; read it with that one, or restore it from a backup" },
  );
}

/** Checks that a table's files are Parquet. @throws {LakeError} */
export function checkMetaData(table: string, { format }: MetaData): void {
  if (format.provider === "parquet") return;
  throw new LakeError(`table ${table}: its files are ${JSON.stringify(format.provider)}, not parquet`);
}

/**
 * Rejects a commit that breaks a rule of the table, or a table with a rule that cannot be checked here.
 *
 * @throws {LakeError}
 */
export function checkWritable(
  table: string,
  metaData: MetaData | undefined,
  actions: readonly Action[],
): void {
  if (metaData === undefined) return;
  const removesRows = actions.some((action) => "remove" in action && action.remove.dataChange);
  if (removesRows && metaData.configuration["delta.appendOnly"]?.toLowerCase() === "true") {
    throw new LakeError(`table ${table}: is append-only (delta.appendOnly), and this would change rows`);
  }
  if (!metaData.schemaString.includes("delta.invariants")) return;
  const { fields } = JSON.parse(metaData.schemaString) as { fields: { name: string; metadata: object }[] };
  const guarded = fields.find(({ metadata }) => "delta.invariants" in metadata);
  if (guarded === undefined) return;
  throw new LakeError(
    `table ${table}, column ${guarded.name}: has an invariant (delta.invariants), which this version cannot check`,
  );
}
