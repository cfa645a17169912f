import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { queryProgress } from "../../../src/cli/query-progress.js";
import { TRACK_PROGRESS } from "../../../src/db/session/session.js";
import { emptySession } from "../../notebook/run-cells.js";

const { stderr } = process;
const before = stderr.isTTY;
let written = "";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance", "Date"],
  });
  written = "";
  vi.spyOn(stderr, "write").mockImplementation((text) => {
    written += String(text);
    return true;
  });
  stderr.isTTY = true;
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  stderr.isTTY = before;
});

/** Runs work of a time, of which a part is done at a constant speed. @returns what was written. */
async function shown(ms: number, percentageAfter: (ms: number) => number): Promise<string> {
  const session = await emptySession();
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  const progress = () => ({ percentage: percentageAfter(elapsed()), rows: elapsed() * 1000 });
  const engine = Object.assign(Object.create(session), { progress });
  const work = queryProgress(engine).during(async () => vi.advanceTimersByTime(ms));
  await work;
  const text = written;
  vi.advanceTimersByTime(10_000);
  expect(written).toBe(text);
  return text;
}

test("a short statement has no bar", async () => {
  expect(await shown(900, () => 50)).toBe("");
});

test("a long one shows how far it is, its rate and the time left, and the bar is gone at its end", async () => {
  const text = await shown(4000, (ms) => ms / 80);
  expect(text).toMatch(/██+░+ 50 % · 4\.0 s left · 1,000,000 rows\/s/);
  const clear = "\u001b[0J";
  expect(text.slice(text.lastIndexOf("rows/s"))).toContain(clear);
});

test("once all is read, the time that writing takes is not known", async () => {
  const text = await shown(4000, () => 99.2);
  expect(text).toContain("99 %");
  expect(text).not.toContain("left");
});

test("where DuckDB does not know it, the time that has passed", async () => {
  const text = await shown(2000, () => 0);
  expect(text).toContain("running for 2.0 s");
  expect(text).not.toContain("left");
});

test("where standard error is no terminal, a line every five seconds", async () => {
  stderr.isTTY = false;
  expect(await shown(4900, (ms) => ms / 200)).toBe("");
  written = "";
  const lines = (await shown(11_000, (ms) => ms / 200)).split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^ {3}query +25 % · 15\.\d s left · [\d,]+ rows · [\d,]+ rows\/s$/),
    expect.stringMatching(/^ {3}query +50 % · /),
    "",
  ]);
});

test("a session knows how far its statement is", async () => {
  vi.useRealTimers();
  const session = await emptySession();
  for (const sql of TRACK_PROGRESS) await session.run(sql);
  expect(session.progress()).toBeUndefined();
  await session.run("CREATE TABLE t AS SELECT i FROM range(1_000_000) t(i)");
  // It takes seconds, and is ended once it says how far it is: on a busy machine this thread may not run for a while.
  const query = session.run("SELECT sum(length(md5(repeat(i::VARCHAR, 300)))) FROM t").then(
    () => "ended",
    () => "interrupted",
  );
  const turn = (): Promise<string> => new Promise((resolve) => setImmediate(resolve, "running"));
  let percentage = 0;
  while (percentage === 0 && (await Promise.race([query, turn()])) === "running")
    percentage = session.progress()?.percentage ?? 0;
  session.interrupt();
  await query;
  expect(percentage).toBeGreaterThan(0);
});
