import { expect } from "vitest";

let isInstalled = false;

/**
 * Makes buffers and typed arrays of the same bytes equal: otherwise vitest compares their elements one by one. All files
 * of a process share it.
 */
export function compareBytes(): void {
  if (isInstalled) return;
  isInstalled = true;
  expect.addEqualityTesters([(a: unknown, b: unknown) => (areSameBytes(a, b) ? true : undefined)]);
}

function areSameBytes(a: unknown, b: unknown): boolean {
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return false;
  return (
    Object.getPrototypeOf(a) === Object.getPrototypeOf(b) && Buffer.compare(bytesOf(a), bytesOf(b)) === 0
  );
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
