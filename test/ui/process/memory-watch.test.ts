import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const WATCH = new URL("../../../src/ui/process/memory-watch.ts", import.meta.url).href;

test("a process is not watched while it is idle, and is killed for its memory while it does not return", async () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, "program.mjs");
  // It has more than one byte, so each look kills it. It waits for several looks, and then forever.
  writeFileSync(
    program,
    `import { watchMemory } from ${JSON.stringify(WATCH)};
    const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    const reportBusy = watchMemory(1);
    process.on("message", () => {
      reportBusy(true);
      wait();
    });
    setTimeout(() => {
      wait(500);
      process.send("idle");
    });`,
  );
  const loader = createRequire(import.meta.url).resolve("tsx");
  const child = fork(program, { execArgv: ["--import", loader] });
  const ended = once(child, "exit");
  const idle = await Promise.race([once(child, "message"), ended]);
  expect(idle[0]).toBe("idle");
  child.send("work");
  expect(await ended).toEqual([null, "SIGKILL"]);
});
