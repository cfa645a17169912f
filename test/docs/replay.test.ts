import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { chart, watch } from "../../docs/examples/live/intraday-chart.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { replayRange } from "../../src/serve/replay/add-replay.js";
import { ReplayClock } from "../../src/serve/replay/replay-clock.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { KEY, landRows, newLake, serve } from "../serve/served-lake.js";
import { handClock } from "../serve/stream/hand-clock.js";

const DOC = readFileSync(new URL("../../docs/service.md", import.meta.url), "utf8");
const at = (time: string): number => Date.parse(`2026-11-20T${time}+08:00`);

/** A service that replays the first minutes of a day: a minute passes with each second of the clock. */
async function replayed(start: number) {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  await landRows(
    lake,
    BARS_1M,
    Array.from({ length: 10 }, (_, n) => {
      const close = 10 + n / 4;
      const prices = { open: close, high: close, low: close, close };
      const own = { symbol: "600330.SH", timestamp: at("09:31") + n * 60_000, prev_close: 10 };
      return { ...own, ...prices, volume: 1, amount: 1000 };
    }),
  );
  const clock = handClock(at("20:00"));
  const { range, regions } = await replayRange(lake, {});
  const replay = { clock: new ReplayClock(clock, range, { time: start, speed: 60 }), regions };
  const served = await serve(lake, { clock, replay });
  onTestFinished(() => served.service.close());
  return { ...served, clock, replay: replay.clock };
}

test("the example draws the day so far, and draws it again as its minutes pass", async () => {
  const { service, clock } = await replayed(at("09:34"));
  const frames: string[] = [];
  const stop = new AbortController();
  let drawn = (): void => {};
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      drawn = resolve;
    });
  const show = (text: string): void => {
    frames.push(text);
    drawn();
  };
  let shown = next();
  const watching = watch({ url: service.url, key: KEY, symbols: ["600330.SH"], show, signal: stop.signal });
  await Promise.race([shown, watching]);
  expect(frames[0]).toBe(
    `600330.SH  10.75  7.50 %  2026-11-20 01:34 UTC\n${chart([10, 10.25, 10.5, 10.75])}\n`,
  );
  shown = next();
  await clock.sleeper();
  clock.advance(1000);
  await shown;
  expect(frames[1]).toMatch(/^600330\.SH {2}11 {2}10\.00 % {2}2026-11-20 01:35 UTC\n/);
  expect(frames[1]).toContain(chart([10, 10.25, 10.5, 10.75, 11]));
  stop.abort();
  await watching;
});

test("the example says why the service refuses it", async () => {
  const { service } = await replayed(at("09:34"));
  const options = { url: service.url, show: () => {} };
  await expect(watch({ ...options, key: "wrong", symbols: ["600330.SH"] })).rejects.toThrow("UNAUTHORIZED");
  await expect(watch({ ...options, key: KEY, symbols: ["600330.SH", "1.SH"] })).rejects.toThrow(
    '"1.SH" are not known',
  );
});

test("a chart has the least value below and the greatest above, each as a column", () => {
  expect(chart([1, 2, 3, 4], 4, 1)).toBe("▁▃▆█  4");
  expect(chart([1, 3], 8, 2)).toBe(" █  3\n▁█  1");
  expect(chart(Array.from({ length: 240 }, (_, n) => n))).toMatch(/█ {2}239\n/);
});

test("the example runs where its path is a link", () => {
  const link = join(temporaryFolder(), "chart.ts");
  symlinkSync(fileURLToPath(new URL("../../docs/examples/live/intraday-chart.ts", import.meta.url)), link);
  const { status } = spawnSync(process.execPath, ["--import", "tsx", link, "no address", "k", "600330.SH"]);
  expect(status).toBe(1);
});

test("docs/service.md shows how the example is run, and its code is linked", () => {
  expect(DOC).toContain("npx tsx docs/examples/live/intraday-chart.ts http://127.0.0.1:8080 k 600330.SH");
  expect(DOC).toContain("](examples/live/intraday-chart.ts)");
});

test("docs/service.md's lines that set the time of a replay do", async () => {
  const { service, replay } = await replayed(at("09:34"));
  const section = DOC.split("\n## ").find((text) => text.startsWith("Replay a day")) ?? "";
  const code = /```ts\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
  const lines = code.replace("http://127.0.0.1:8080", service.url).replace('"KEY"', JSON.stringify(KEY));
  expect(lines).not.toBe(code);
  const run = Object.getPrototypeOf(async () => {}).constructor as new (body: string) => () => Promise<void>;
  await new run(lines)();
  expect(replay.state).toEqual({ time: at("09:30"), speed: 60 });
});
