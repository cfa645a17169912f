import { interruptOn } from "../../../db/session/interrupt-on.js";
import { Session } from "../../../db/session/session.js";
import { spillOptions } from "../../../lake/local/work-folder.js";
import type { WriterPlace } from "../../formats/dataset-writer.js";

/** Sessions of a database in which Parquet files are written. */
export interface ParquetSessions {
  /** Opens a session for a file, and closes it after use. The build's signal interrupts its statements. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>;
  close(): void;
}

/**
 * Opens sessions of a separate database with one thread; several files are written at the same time, each in a session.
 * Where a database has more threads, a statement that waits for one of them asks for work all the time: of the
 * processor time for `long-parquet` that took a fifth.
 */
export function parquetSessions({
  lake,
  memoryLimit,
  signal,
}: Pick<WriterPlace, "lake" | "memoryLimit" | "signal">): ParquetSessions {
  let database: Promise<Session> | undefined;
  let isClosed = false;
  return {
    async use(work) {
      database ??= Session.open({ ...spillOptions(lake.work), threads: 1, memoryLimit });
      using session = await (await database).sibling();
      using _ = interruptOn(session, signal);
      return await work(session);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      database?.then((session) => session.close()).catch(() => {});
    },
  };
}
