const UINT32 = 2 ** 32;

/**
 * Mixes a 32-bit value into a hash (the finalizer of MurmurHash3 over a golden-ratio step). Every random value of the
 * simulation is such a hash of its subject (seed, symbol, day, purpose), so that each part can be computed separately.
 * For a fixed `hash` it is a bijection of `value`.
 */
export function mix(hash: number, value: number): number {
  let h = (hash + Math.imul(value, 0x9e3779b9)) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

export function mixText(hash: number, text: string): number {
  let h = hash;
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}

/** Draw number `n` of a key: uniform in [0, 1), in steps of 2^-32. */
export function uniform(key: number, n: number): number {
  return (mix(key, n) >>> 0) / UINT32;
}

/** Draw number `n` of a key: an integer, uniform in [0, `end`). */
export function integer(key: number, n: number, end: number): number {
  return Math.floor(uniform(key, n) * end);
}

/** Draw number `n` of a key: log-uniform in [low, high). */
export function logUniform(key: number, n: number, [low, high]: readonly [number, number]): number {
  return low * Math.exp(uniform(key, n) * Math.log(high / low));
}

/** Bell-shaped with mean 0 and deviation 1, within +-3.5 (four uniform variables); uses draws `n` and `n + 0x10000`. */
export function bell(key: number, n: number): number {
  const a = mix(key, n);
  const b = mix(key, n + 0x10000);
  const sum = (a & 0xffff) + (a >>> 16) + (b & 0xffff) + (b >>> 16);
  return (sum / 65536 - 2) * 1.7320508075688772;
}
