import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Probed {
  readonly rows: number;
  readonly chunks: number;
  /** Bytes of JavaScript objects. */
  readonly allocated: number;
}

function probe(barsPerSymbol: readonly number[]): Probed[] {
  const script = fileURLToPath(new URL("allocation-probe.ts", import.meta.url));
  const flags = ["--expose-gc", "--single-threaded", "--max-semi-space-size=512", "--import", "tsx"];
  const output = execFileSync(process.execPath, [...flags, script, ...barsPerSymbol.map(String)], {
    encoding: "utf8",
  });
  return JSON.parse(output) as Probed[];
}

/** What a response may allocate, and each chunk of it: an object for each value would take 96 MB of a million bars. */
const ANSWER_BYTES = 1_000_000;
const CHUNK_BYTES = 4000;

test("decoding 10 symbols of 1000 and of 30,000 bars allocates for its chunks, not for its bars", () => {
  const found = probe([1000, 30_000]);
  expect(found.map(({ rows }) => rows)).toEqual([10_000, 300_000]);
  for (const { chunks, allocated } of found) {
    expect(allocated).toBeGreaterThan(0);
    expect(allocated).toBeLessThan(ANSWER_BYTES + chunks * CHUNK_BYTES);
  }
});
