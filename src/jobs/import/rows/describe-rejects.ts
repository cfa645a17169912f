import { ident, literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { TempTable } from "../../../db/session/temp-table.js";
import type { Rejects } from "../../../lake/land/rejects.js";
import type { ReadGroup } from "../table-import.js";
import { rowLines } from "../text/row-lines.js";
import { insertObjects } from "./distinct-texts.js";
import { type MalformedLine, openGroup } from "./raw-rows.js";

/** Rows of a file whose texts are kept. */
const MOST_ROWS = 100_000;

/**
 * Gives each row that was set aside its physical line and its texts as they are in the file. Until then its line counts rows
 * from the file's first one.
 */
export async function describeRejects(
  session: Session,
  rejects: Rejects,
  reads: readonly ReadGroup[],
  malformed: readonly MalformedLine[],
): Promise<void> {
  await rejects.amend(async (table) => {
    const found = await session.json<{ source: string }>(
      `SELECT DISTINCT source FROM ${table} WHERE line IS NOT NULL`,
    );
    const sources = new Set(found.map(({ source }) => source));
    for (const { group } of reads)
      for (const [i, file] of group.files.entries()) {
        if (!sources.has(file.path) || file.csv?.wide !== undefined) continue;
        const firstLine = file.csv?.dialect.firstLine ?? 1;
        const numbers = await session.json<{ line: number }>(
          `SELECT DISTINCT line::DOUBLE AS line FROM ${table} WHERE source = ${literal(file.path)} AND line IS NOT NULL ORDER BY line LIMIT ${MOST_ROWS}`,
        );
        const rows = numbers.map(({ line }) => line - firstLine);
        const own = malformed.filter(({ path }) => path === file.readPath).map(({ line }) => line);
        const lines =
          file.csv === undefined || /\.zst$/i.test(file.readPath)
            ? undefined
            : await rowLines(file.readPath, firstLine, new Set(own), rows);
        await using open = await openGroup(session, { files: [file], places: [group.places[i] as number] });
        const members = file.columns.map(
          (name, n) => `${literal(name)}, CAST(${open.columns[n]?.sql ?? "NULL"} AS VARCHAR)`,
        );
        await using wanted = new TempTable(session, "wanted_rows");
        await wanted.define("number BIGINT, line BIGINT");
        const wantedRows = rows.map((number) => ({ number, line: lines?.get(number) ?? number + firstLine }));
        await insertObjects(session, wanted.name, wantedRows, { number: "BIGINT", line: "BIGINT" });
        await using texts = new TempTable(session, "wanted_texts");
        await texts.fill(`SELECT w.number + ${firstLine} AS counted, w.line, t.text
          FROM (SELECT row_number() OVER () - 1 AS number, json_object(${members.join(", ")}) AS text FROM ${open.from}) t
          JOIN ${wanted.name} w USING (number)`);
        await session.run(
          `UPDATE ${table} AS r SET line = t.line, ${ident("row")} = t.text FROM ${texts.name} t
           WHERE r.source = ${literal(file.path)} AND r.line = t.counted`,
        );
      }
  });
}
