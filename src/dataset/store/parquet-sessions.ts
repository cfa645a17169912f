import { Session } from "../../db/session/session.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import type { WriterPlace } from "./dataset-writer.js";

/** Sessions of a database in which Parquet files are written. */
export interface ParquetSessions {
  /** Opens a session for a file. */
  open(): Promise<Session>;
  close(): void;
}

/**
 * Opens sessions of a separate database with one thread; several files are written at the same time, each in a session.
 * Where a database has more threads, a statement that waits for one of them asks for work all the time: of the processor
 * time for `long-parquet` that took a fifth.
 */
export function parquetSessions({ lake }: WriterPlace): ParquetSessions {
  let database: Promise<Session> | undefined;
  let isClosed = false;
  return {
    async open() {
      database ??= Session.open({ ...spillOptions(lake.work), threads: 1, memoryLimit: "1GB" });
      return (await database).sibling();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      database?.then((session) => session.close()).catch(() => {});
    },
  };
}
