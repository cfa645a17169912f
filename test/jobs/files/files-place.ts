import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Session } from "../../../src/db/session/session.js";
import type { FilesPipeline } from "../../../src/jobs/files/files-pipeline.js";
import { type RefusedFile, refusedFiles } from "../../../src/jobs/files/landed-files.js";
import type { FilesReport } from "../../../src/jobs/files/plan-files.js";
import { ledgerSql } from "../../../src/jobs/ledger/ledger.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { type RunEnvironment, type RunReport, runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../../src/lake/lake.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { queryLake, T0, temporaryFolder } from "../../lake/temporary-lake.js";

type Definition = PipelineDefinition & { readonly kind: "files" };
type FilesRunReport = RunReport & { readonly files: FilesReport };

/** A folder with files, and a lake. */
export function filesPlace(definition: Partial<Definition> = {}) {
  const root = temporaryFolder();
  const folder = join(root, "in");
  mkdirSync(folder);
  const clock = virtualClock(T0);
  const location = join(root, "lake");
  const lake = new Lake(location, { clock, hasDatabase: false });
  const pipeline = definePipeline({
    name: "drop",
    kind: "files",
    table: "bars_1d",
    from: folder,
    pattern: "**/*.csv",
    ...definition,
  }) as FilesPipeline;
  const run = async (parts: Partial<RunEnvironment> = {}): Promise<FilesRunReport> => {
    clock.advance(1000);
    return (await runPipeline(pipeline, {}, { lake, clock, ...parts })) as FilesRunReport;
  };
  return {
    root,
    folder,
    lake,
    clock,
    pipeline,
    run,
    /** Runs in a process that is killed before its write of that number, from 0. @returns whether it got there. */
    async runKilled(write: number): Promise<boolean> {
      let [left, isKilled] = [write, false];
      const alive = async <T>(work: () => Promise<T>): Promise<T> => {
        if (isKilled || left-- <= 0) {
          isKilled = true;
          throw new Error("killed");
        }
        return work();
      };
      const own = folderStorage(location);
      const storage: Storage = {
        ...own,
        putIfAbsent: (path, text) => alive(() => own.putIfAbsent(path, text)),
        put: (path, text) => alive(() => own.put(path, text)),
        putFileIfAbsent: (...file) => alive(() => own.putFileIfAbsent(...file)),
      };
      await run({ lake: new Lake(location, { clock, hasDatabase: false, storage }) }).catch(() => {});
      return isKilled;
    },
    write(name: string, content: string | Buffer): string {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    remove: (name: string) => rmSync(join(folder, name)),
    query: <Row = Record<string, unknown>>(sql: string): Promise<Row[]> => queryLake<Row>(lake, sql),
    async refused(): Promise<RefusedFile[]> {
      using session = await Session.open(lake.access);
      return await refusedFiles(session, `(${await ledgerSql(session, lake)})`);
    },
  };
}

/** A CSV file of daily bars of one symbol: the close by date. */
export function barsCsv(closes: Readonly<Record<string, number>>, symbol = "600519.SH"): string {
  const rows = Object.entries(closes).map(
    ([date, close]) => `${symbol},${date},${close},${close},${close},${close},100`,
  );
  return `${["symbol,date,open,high,low,close,volume", ...rows].join("\n")}\n`;
}
