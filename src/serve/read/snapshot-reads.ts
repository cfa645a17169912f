import { setImmediate } from "node:timers/promises";
import type { Lake } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { TableSchema } from "../../schema/column.js";

/**
 * Makes a function with which requests share reads of a table's log: those that arrive in the same turn of the event
 * loop, and those that arrive while the log is being read, which share the next read. A read starts after the requests
 * that share it have arrived, so that each request sees everything that was committed before its arrival.
 */
export function snapshotReads(read: Lake["snapshot"]): Lake["snapshot"] {
  const current = new Map<TableSchema, Promise<unknown>>();
  const next = new Map<TableSchema, Promise<Snapshot>>();
  let turn: Promise<unknown> | undefined;
  const endOfTurn = (): Promise<unknown> => {
    turn ??= setImmediate().finally(() => {
      turn = undefined;
    });
    return turn;
  };
  const start = (table: TableSchema): Promise<Snapshot> => {
    next.delete(table);
    const reading = read(table).finally(() => current.delete(table));
    current.set(table, reading);
    return reading;
  };
  return (table) => {
    const waiting = next.get(table);
    if (waiting !== undefined) return waiting;
    const following = (current.get(table) ?? endOfTurn()).then(
      () => start(table),
      () => start(table),
    );
    next.set(table, following);
    return following;
  };
}
