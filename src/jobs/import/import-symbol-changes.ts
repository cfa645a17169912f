import { UsageError } from "../../core/errors.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { SYMBOL_CHANGES } from "../../schema/actions.js";
import { importSeen, type SeenTable, sourceOf, sourceSql } from "./import-actions.js";
import { DELISTING_DATES } from "./plan/action-names.js";
import { plainName } from "./plan/field-names.js";
import { ObjectRows } from "./rows/object-rows.js";
import type { FileGroup } from "./rows/raw-rows.js";
import {
  CHANGED_SYMBOL_TEXTS,
  circularSql,
  SYMBOL_CHANGE_FIELDS,
  symbolChangesSql,
} from "./rows/symbol-changes.js";
import type { ImportWork, ReadGroup, TableImport } from "./table-import.js";

const CHANGES: SeenTable = {
  table: SYMBOL_CHANGES,
  date: "from_date",
  label: "j.kind",
  notes: [
    "history(...), reads of the library, datasets and the workspace follow renames; views and the service have symbols as they are stored",
  ],
  symbolTexts: CHANGED_SYMBOL_TEXTS,
};

/** The import of renames, mergers, codes that were given to other companies, and delistings. */
export async function importSymbolChanges(work: ImportWork): Promise<TableImport> {
  const { session, reference } = work;
  const rows = new ObjectRows(session, SYMBOL_CHANGE_FIELDS, work.options);
  const sources = new Map<number, string>();
  const delistings: number[] = [];
  const maps: number[] = [];
  const foundIn = new Map<FileGroup, readonly string[]>();
  const live = await parquetRelation(session, reference.filesOf(await reference.snapshot(SYMBOL_CHANGES)));
  const made = await importSeen(
    work,
    CHANGES,
    rows,
    () => symbolChangesSql(rows, { delistings, maps }, sourceSql(sources)),
    foundIn,
    undefined,
    (judged) => session.run(circularSql(judged, live)),
  );
  return {
    ...made,
    required: ["symbol", "from_date"],
    add: async (open, read, symbol) => {
      const { group, chosen } = read;
      if (chosen.source?.name === "LEAN") {
        maps.push(...group.places);
        foundIn.set(group, ["a row has the symbol up to its date: it changes on the weekday after"]);
      } else if (isOfDelistings(read)) delistings.push(...group.places);
      await rows.add(open, chosen, symbol, read.mark);
      for (const place of group.places) sources.set(place, sourceOf(work, read));
      return new Map();
    },
  };
}

/** Whether a file has dates of delistings alone. @throws {UsageError} where nothing says what its rows are. */
function isOfDelistings({ chosen: { fields }, group }: ReadGroup): boolean {
  if (fields.has("kind")) return false;
  const isDelisting = DELISTING_DATES.includes(plainName(fields.get("from_date")?.name ?? ""));
  if (isDelisting || fields.has("new_symbol")) return isDelisting && !fields.has("new_symbol");
  throw new UsageError(`file ${group.files[0]?.path}: has neither new symbols nor a kind of change`, {
    hint: `give them with \`map: { new_symbol: "COLUMN" }\` or \`map: { kind: "COLUMN" }\`; its columns are ${group.files[0]?.columns.join(", ")}`,
  });
}
