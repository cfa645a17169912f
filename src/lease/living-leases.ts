import type { z } from "zod";
import type { LeaseStore } from "./lease-store.js";
import { type Owner, stateOf } from "./owner.js";

/** Most records that are read: enough for a list that a person reads. */
const MOST_READ = 1000;

/**
 * The contents of the leases whose owners seem alive, for display only. No record is changed or removed, and owners
 * without a recent renewal get no extra time. Records that cannot be read are left out.
 *
 * @param staleMs time in milliseconds without a renewal after which an owner counts as ended.
 */
export async function livingLeases<T extends Owner>(
  store: LeaseStore,
  shape: z.ZodType<T>,
  staleMs: number,
): Promise<T[]> {
  const ids = (await store.ids()).slice(0, MOST_READ);
  if (ids.length === 0) return [];
  const now = await store.now();
  const living: T[] = [];
  for (const id of ids) {
    const record = await store.read(id);
    if (record === undefined || now - record.renewedAt > staleMs) continue;
    const content = parsed(record.text, shape);
    if (content !== undefined && stateOf(content) !== "ended") living.push(content);
  }
  return living;
}

function parsed<T>(text: string, shape: z.ZodType<T>): T | undefined {
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
