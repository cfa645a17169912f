import type { SessionOptions } from "./open-database.js";
import { Session } from "./session.js";

interface SharedDatabase {
  readonly root: Promise<Session>;
  uses: number;
}

let current: SharedDatabase | undefined;

/**
 * Runs work that needs a few small queries, each work with its own session. The sessions share a database with one
 * thread: opening a database takes 15 ms, and a command reads the checkpoints of a dozen tables. The work leaves nothing in
 * the database but temporary tables.
 *
 * @param access the stores that the work reads: it then has a separate database, with their credentials.
 */
export async function withSmallSession<T>(
  work: (session: Session) => Promise<T>,
  access: Pick<SessionOptions, "stores"> = {},
): Promise<T> {
  if (access.stores !== undefined) {
    using session = await Session.open({ threads: 1, ...access });
    return await work(session);
  }
  current ??= { root: open(), uses: 0 };
  const database = current;
  database.uses += 1;
  try {
    using session = await (await database.root).sibling();
    return await work(session);
  } catch (error) {
    // A damaged file may have left the database in any state: the next use opens another one.
    if (current === database) current = undefined;
    throw error;
  } finally {
    database.uses -= 1;
    if (current !== database && database.uses === 0)
      await database.root.then(
        (root) => root.close(),
        () => {},
      );
  }
}

async function open(): Promise<Session> {
  const root = await Session.open({ threads: 1 });
  // It remains open for as long as the process runs, and reads each file once.
  await root.run("SET enable_external_file_cache = false");
  return root;
}
