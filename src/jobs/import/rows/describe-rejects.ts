import { ident, literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { TempTable } from "../../../db/session/temp-table.js";
import type { Rejects } from "../../../lake/land/rejects.js";
import type { ReadGroup } from "../table-import.js";
import { rowLines, textsOfLines } from "../text/row-lines.js";
import { insertObjects } from "./distinct-texts.js";
import { type MalformedLine, openGroup } from "./raw-rows.js";

/** Letters of a line that are kept. */
const LONGEST_TEXT = 1000;
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
        const values = open.columns.map(({ sql }) => `CAST(${sql} AS VARCHAR)`).join(", ");
        await texts.fill(`SELECT w.number + ${firstLine} AS counted, w.line, t.text, t.is_empty
          FROM (SELECT row_number() OVER () - 1 AS number, json_object(${members.join(", ")}) AS text, coalesce(${values}) IS NULL AS is_empty FROM ${open.from}) t
          JOIN ${wanted.name} w USING (number)`);
        if (file.json === "newline_delimited") await describeLines(session, texts.name, file.readPath);
        await session.run(
          `UPDATE ${table} AS r SET line = t.line, ${ident("row")} = t.text,
             reason = CASE WHEN t.is_empty AND ${file.json === "newline_delimited"} THEN 'it is no record of JSON' ELSE r.reason END,
             rule = CASE WHEN t.is_empty AND ${file.json === "newline_delimited"} THEN 'unparsable' ELSE r.rule END
           FROM ${texts.name} t WHERE r.source = ${literal(file.path)} AND r.line = t.counted`,
        );
      }
  });
}

/** Gives rows without a value, which are lines that are no records, the text of their line. */
async function describeLines(session: Session, texts: string, path: string): Promise<void> {
  const empty = await session.json<{ line: number }>(
    `SELECT line::DOUBLE AS line FROM ${texts} WHERE is_empty ORDER BY line`,
  );
  if (empty.length === 0 || /\.zst$/i.test(path)) return;
  const found = await textsOfLines(path, new Set(empty.map(({ line }) => line)));
  const rows = [...found].map(([line, text]) => ({
    line,
    text: JSON.stringify(text.slice(0, LONGEST_TEXT)),
  }));
  await using lines = new TempTable(session, "line_texts");
  await lines.define("line BIGINT, text VARCHAR");
  await insertObjects(session, lines.name, rows, { line: "BIGINT", text: "VARCHAR" });
  await session.run(`UPDATE ${texts} AS t SET text = l.text FROM ${lines.name} l WHERE l.line = t.line`);
}
