import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { anyAttack } from "../serve/any-attack.js";
import { carryOut, type Target } from "../serve/hostile-client.js";
import { KEY } from "../serve/served-lake.js";
import { anyStreamAttack, carryOutOnStream } from "../serve/stream/stream-attack.js";

/** Attacks at the same time, at most. */
const MOST_AT_ONCE = 24;
/** Fewer than the connections that a key may have. */
const MOST_STREAMS = 12;
const RUNS = 10;
/** How long a request may go without a response. */
const PATIENCE_MS = 30_000;
/** How much the memory may grow after the first tenth of the time. */
const MOST_GROWTH_BYTES = 150e6;
const RIGHT_REQUESTS = [
  "/v1/klines/batch?symbols=600000.SH,600039.SH&count=150&adjust=none",
  "/v1/klines/intraday/universe?universes=all&count=30",
  "/v1/quotes?universes=all",
];

/** Attacks a service in a separate process until the time is over. @returns the exit code. */
export async function fuzzServe(minutes: number, seed: number): Promise<number> {
  const child = fork(fileURLToPath(new URL("serve-process.ts", import.meta.url)));
  try {
    const { port } = await messageOf<{ port: number }>(child);
    const target = { host: "127.0.0.1", port, key: KEY, patienceMs: PATIENCE_MS };
    const expected = await Promise.all(RIGHT_REQUESTS.map((path) => rightResponse(target, path)));
    let attacks = 0;
    const property = fc.asyncProperty(
      fc.array(anyAttack(KEY), { minLength: 1, maxLength: MOST_AT_ONCE }),
      fc.array(anyStreamAttack(KEY), { maxLength: MOST_STREAMS }),
      async (list, onStream) => {
        attacks += list.length + onStream.length;
        await Promise.all([
          ...list.map((attack) => carryOut(attack, target)),
          ...onStream.map((attack) => carryOutOnStream(attack, target)),
        ]);
        assert.equal(child.exitCode, null, "the service's process is gone");
        for (const [k, path] of RIGHT_REQUESTS.entries())
          assert.equal(
            await rightResponse(target, path),
            expected[k],
            `a right request is answered otherwise: ${path}`,
          );
      },
    );
    const start = Date.now();
    const end = start + minutes * 60_000;
    let settled = 0;
    let peak = 0;
    for (let turn = 0; Date.now() < end; turn++) {
      const result = await fc.check(property, {
        seed: seed + turn,
        numRuns: RUNS,
        interruptAfterTimeLimit: 30_000,
      });
      if (result.failed) {
        const { seed: failing, counterexamplePath, counterexample, errorInstance } = result;
        console.error(`\nfailed: the service under attack, seed ${failing}, path ${counterexamplePath}`);
        for (const { pieces } of counterexample?.[0] ?? [])
          console.error(JSON.stringify(Buffer.concat(pieces).toString("latin1").slice(0, 600)));
        console.error(errorInstance);
        return 1;
      }
      const rss = await memoryOf(child);
      if (Date.now() < start + (end - start) / 10) settled = Math.max(settled, rss);
      settled ||= rss;
      peak = Math.max(peak, rss);
      if (process.stdout.isTTY) process.stdout.write(`\rturn ${turn + 1}`);
    }
    const figures = `${mb(settled)} after a tenth of the time, ${mb(peak)} at most, ${mb(await memoryOf(child))} in the end`;
    console.log(`${String(attacks).padStart(9)} attacks withstood; memory: ${figures}`);
    return peak - settled > MOST_GROWTH_BYTES ? 1 : 0;
  } finally {
    child.disconnect();
  }
}

async function rightResponse({ host, port, key }: Target, path: string): Promise<string> {
  const response = await fetch(`http://${host}:${port}${path}`, {
    headers: { "x-api-key": key },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  assert.equal(response.status, 200);
  return response.text();
}

async function memoryOf(child: ChildProcess): Promise<number> {
  const response = messageOf<{ rss: number }>(child);
  child.send("memory");
  return (await response).rss;
}

async function messageOf<T>(child: ChildProcess): Promise<T> {
  const [message] = await once(child, "message");
  return message as T;
}

function mb(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
