import fc from "fast-check";

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Cuts bytes at the given places (indices in any order; those outside are ignored). Empty pieces may occur. */
export function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = cuts.filter((cut) => cut >= 0 && cut <= bytes.length).sort((a, b) => a - b);
  const starts = [0, ...places];
  return starts.map((start, i) => bytes.slice(start, starts[i + 1] ?? bytes.length));
}

/** Cuts bytes into pieces of one size. */
export function cutEvery(bytes: Uint8Array, size: number): Uint8Array[] {
  return cutAt(
    bytes,
    Array.from({ length: Math.floor((bytes.length - 1) / size) }, (_, k) => (k + 1) * size),
  );
}

/** Cuts of a document: anywhere, or between all bytes. */
export const anyCuts = fc.oneof(
  fc.array(fc.nat(400), { maxLength: 12 }),
  fc.array(fc.nat(4000), { maxLength: 12 }),
  fc.constant(Array.from({ length: 4000 }, (_, i) => i)),
);
