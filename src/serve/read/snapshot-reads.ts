import type { Lake } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { TableSchema } from "../../schema/column.js";

/**
 * Makes a function with which requests that arrive while a table's log is being read share the next read. That read
 * starts after they arrived, so that each request sees everything that was committed before its arrival.
 */
export function snapshotReads(read: Lake["snapshot"]): Lake["snapshot"] {
  const current = new Map<TableSchema, Promise<unknown>>();
  const next = new Map<TableSchema, Promise<Snapshot>>();
  const readNow = (table: TableSchema): Promise<Snapshot> => {
    const reading = read(table).finally(() => current.delete(table));
    current.set(table, reading);
    return reading;
  };
  return (table) => {
    const running = current.get(table);
    if (running === undefined) return readNow(table);
    const waiting = next.get(table);
    if (waiting !== undefined) return waiting;
    const following = running.then(
      () => follow(table),
      () => follow(table),
    );
    next.set(table, following);
    return following;
  };
  function follow(table: TableSchema): Promise<Snapshot> {
    next.delete(table);
    return readNow(table);
  }
}
