import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { klinesFromIpc } from "../../arrow/kline-ipc.js";
import { messageOf } from "../../core/errors.js";
import { AnswerStore, type KeptAnswer } from "../../lake/answer-store.js";
import { unlanded } from "../../lake/upsert.js";
import type { TableSchema } from "../../schema/column.js";
import { tableNamed } from "../../schema/tables.js";
import type { KlineColumns } from "../../wire/kline-columns.js";
import { type BarsNote, GROUP_BARS, landAnswers } from "./landing-bars.js";
import { landStatementNotes, type StatementsNote } from "./landing-statements.js";
import type { Run } from "./run.js";

/**
 * Lands what runs that died had received and not landed: it was paid for. What cannot be landed stays where it is, and
 * is told as a failure.
 */
export async function recoverAnswers(run: Run): Promise<void> {
  for (const store of await AnswerStore.takeOver(run.lake, run.runId)) {
    try {
      run.progress.doing("landing what an earlier run had received");
      const kept = await store.kept();
      const bars = kept.filter(({ note }) => isBarsNote(note));
      await recoverBars(run, store, bars);
      await recoverStatements(
        run,
        store,
        kept.filter((one) => !bars.includes(one)),
      );
    } catch (error) {
      run.failures.push({ request: "answers of an earlier run", reason: messageOf(error), symbols: 0 });
    } finally {
      await store.close();
    }
  }
}

function isBarsNote(note: unknown): note is BarsNote {
  return typeof note === "object" && note !== null && "finalEnds" in note;
}

async function recoverBars(run: Run, store: AnswerStore, kept: readonly KeptAnswer[]): Promise<void> {
  let group: { readonly id: string; readonly note: BarsNote; readonly columns: KlineColumns | undefined }[] =
    [];
  const land = async (): Promise<void> => {
    for (const dataset of new Set(group.map(({ note }) => note.dataset))) {
      const table = tableOf(dataset);
      const own = group.filter(({ note }) => note.dataset === dataset);
      const left = new Set(
        unlanded(
          await run.lake.snapshot(table),
          own.map(({ note }) => note.source),
        ),
      );
      const answers = own.map(({ note: { source, entry }, columns }) => ({
        source,
        entry,
        columns: left.has(source) ? columns : undefined,
      }));
      const finalEnds = own[0]?.note.finalEnds ?? run.finalEnds;
      await landAnswers(run, table, answers, finalEnds);
      await store.forget(own.map(({ id }) => id));
    }
    group = [];
  };
  let bars = 0;
  for (const { id, note, body } of kept) {
    if (!isBarsNote(note)) continue;
    const columns = existsSync(body) ? klinesFromIpc(await readFile(body)) : undefined;
    group.push({ id, note, columns });
    bars += columns?.rows ?? 0;
    if (bars < GROUP_BARS) continue;
    await land();
    bars = 0;
  }
  await land();
}

async function recoverStatements(run: Run, store: AnswerStore, kept: readonly KeptAnswer[]): Promise<void> {
  for (const { id, note } of kept) {
    const statements = note as StatementsNote;
    await landStatementNotes(run, tableOf(statements.dataset), statements.columns, [statements]);
    await store.forget([id]);
  }
}

function tableOf(name: string): TableSchema {
  const table = tableNamed(name);
  if (table === undefined) throw new TypeError(`answer of an unknown table ${name}`);
  return table;
}
