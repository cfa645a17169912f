import { expect } from "vitest";

/** What is nested deeper, or in itself, is left to vitest. */
const MAX_DEPTH = 16;

let isInstalled = false;

/**
 * Lets `toEqual` find by one loop that plain values are equal. Without it vitest lists the keys of every array and every
 * object, and copies what a typed array holds. What may differ is left to vitest, which says where. Of arrays only the
 * elements are compared, not properties such as the `index` of a match. All files of a process share it.
 */
export function useQuickEquality(): void {
  if (isInstalled) return;
  isInstalled = true;
  expect.addEqualityTesters([
    (a: unknown, b: unknown) => (typeof a === "object" && areSurelyEqual(a, b, 0) ? true : undefined),
  ]);
}

function areSurelyEqual(a: unknown, b: unknown, depth: number): boolean {
  // An element that is not there is no `undefined`, for strict comparisons.
  if (typeof a !== "object" || a === null || b === null) return Object.is(a, b) && a !== undefined;
  if (typeof b !== "object" || depth > MAX_DEPTH) return false;
  const kind = Object.getPrototypeOf(a);
  if (kind !== Object.getPrototypeOf(b)) return false;
  if (kind === Array.prototype) return areArraysEqual(a as unknown[], b as unknown[], depth);
  if (kind === Object.prototype) return areObjectsEqual(a as Plain, b as Plain, depth);
  return ArrayBuffer.isView(a) && ArrayBuffer.isView(b) && Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
}

function areArraysEqual(a: readonly unknown[], b: readonly unknown[], depth: number): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!areSurelyEqual(a[i], b[i], depth + 1)) return false;
  return true;
}

type Plain = Readonly<Record<string, unknown>>;

/** Of objects whose names are in the same order. */
function areObjectsEqual(a: Plain, b: Plain, depth: number): boolean {
  const [names, others] = [Object.keys(a), Object.keys(b)];
  const symbols = Object.getOwnPropertySymbols(a).length + Object.getOwnPropertySymbols(b).length;
  if (names.length !== others.length || symbols > 0) return false;
  return names.every((name, i) => name === others[i] && areSurelyEqual(a[name], b[name], depth + 1));
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
