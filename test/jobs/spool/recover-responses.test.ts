import { existsSync, readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { Table, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import type { BarsNote } from "../../../src/jobs/ingest/bars/landing-bars.js";
import type { RecordsNote } from "../../../src/jobs/ingest/landing-records.js";
import type { RequestRecord } from "../../../src/jobs/ledger/ledger.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../../src/lake/lake.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { klineLayout, klinePieces } from "../../../src/wire/kline-bytes.js";
import { json, type Script } from "../../faults/service/scripted-service.js";
import { FINAL, liveRows, openSession } from "../../lake/temporary-lake.js";
import { makeUnremovable } from "../../lease/unremovable-records.js";
import { scriptedMarket } from "../scripted-market.js";

const DAY = 86_400_000;
/** Midnight of Monday 2024-01-08 in Shanghai. */
const MONDAY = Date.parse("2024-01-07T16:00:00Z");
const NOW = "2024-01-13T00:00:00Z";
const DEAD = "20240112T000000Z-dead00";
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };

function bodyOf(days: readonly number[], close: number): object {
  const of = (value: number): number[] => days.map(() => value);
  const prices = { open: of(close), high: of(close), low: of(close), close: of(close) };
  return { timestamp: days, ...prices, volume: of(1), amount: of(100 * close) };
}

/** Sends bars of every day of the week with a given close. */
function returning(close: number): Script {
  return (seen, response) => {
    const [start, end] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
    const days = [0, 1, 2, 3, 4].map((n) => MONDAY + n * DAY).filter((ms) => ms >= start && ms <= end);
    const symbols = (seen.query.get("symbols") ?? "").split(",");
    json(response, 200, { data: Object.fromEntries(symbols.map((one) => [one, bodyOf(days, close)])) });
  };
}

function recordOf(requestId: string, part: Partial<RequestRecord>): RequestRecord {
  return {
    runId: DEAD,
    pipeline: "daily",
    requestId,
    dataset: BARS_1D.name,
    endpoint: "GET /v1/klines/batch",
    symbols: ["600519.SH"],
    askedAt: Date.parse(NOW) - DAY,
    status: "answered",
    attempts: 1,
    rows: 1,
    rejected: 0,
    bytes: 1,
    durationMs: 1,
    absent: [],
    ...part,
  };
}

/** Spools a response with the first days of the week, as a run that died has left it. */
async function keepBars(
  store: ResponseSpool,
  id: string,
  symbol: string,
  days: number,
  close: number,
  as: "Arrow" | "arrays" = "arrays",
): Promise<void> {
  const times = Array.from({ length: days }, (_, n) => MONDAY + n * DAY);
  const text = Buffer.from(JSON.stringify({ data: { [symbol]: bodyOf(times, close) } }));
  const { columns } = await decodeKlines([text], { shape: "map" });
  const window = { start: MONDAY, end: MONDAY + days * DAY };
  const record = recordOf(id, { symbols: [symbol], window, finalEnd: FINAL.CN, rows: days });
  const entry = { records: [record], issues: [] };
  const layout = klineLayout(columns);
  const note: BarsNote = { dataset: BARS_1D.name, source: `${DEAD}/${id}`, finalEnds: FINAL, entry };
  if (as === "Arrow") await store.store(id, note, [tableToIPC(new Table([klineBatch(columns)]), "file")]);
  else await store.store(id, { ...note, layout }, klinePieces(columns, layout));
}

async function closes(lake: Lake): Promise<unknown[]> {
  const query =
    "SELECT symbol, list(close ORDER BY timestamp) AS closes FROM live GROUP BY symbol ORDER BY symbol";
  return liveRows(await openSession(), lake, BARS_1D, query);
}

test("a response that an earlier version stored as Arrow lands", async () => {
  const { lake, run } = await scriptedMarket(returning(11), NOW);
  const store = ResponseSpool.of(lake, DEAD);
  await keepBars(store, "000001", "600519.SH", 5, 10, "Arrow");
  await store.close();
  expect(await run(DAILY, { symbols: ["600519.SH"] })).toMatchObject({
    status: "complete",
    requests: { sent: 0 },
  });
  expect(await closes(lake)).toEqual([{ symbol: "600519.SH", closes: [10, 10, 10, 10, 10] }]);
});

test.each(["json", "body"])(
  "a damaged response (its %s) is set aside, reported, and requested again; the others land",
  async (part) => {
    const { service, lake, run } = await scriptedMarket(returning(11), NOW);
    const store = ResponseSpool.of(lake, DEAD);
    await keepBars(store, "000001", "600519.SH", 5, 10);
    await keepBars(store, "000002", "000001.SZ", 5, 10);
    await store.close();
    truncateSync(join(lake.location, "spool", DEAD, `000001.${part}`), 20);
    const symbols = ["600519.SH", "000001.SZ"];
    const report = await run(DAILY, { symbols });
    expect(report.status).toBe("partial");
    expect(report.failures).toMatchObject([
      { reason: expect.stringMatching(/000001: .* is requested again$/) },
    ]);
    expect(service.seen.map(({ query }) => query.get("symbols"))).toEqual(["600519.SH"]);
    expect(await closes(lake)).toEqual([
      { symbol: "000001.SZ", closes: [10, 10, 10, 10, 10] },
      { symbol: "600519.SH", closes: [11, 11, 11, 11, 11] },
    ]);
    expect(readdirSync(join(lake.location, "spool"))).toEqual([]);
    expect(existsSync(join(lake.location, "rejects", "spool"))).toBe(true);
    expect(await run(DAILY, { symbols })).toMatchObject({ status: "complete", requests: { sent: 0 } });
  },
);

test("an older response replaces nothing that a later one brought, and adds what that left out", async () => {
  const { service, lake, run } = await scriptedMarket(returning(11), NOW);
  await run({ ...DAILY, from: "2024-01-10" }, { symbols: ["600519.SH"] });
  const store = ResponseSpool.of(lake, DEAD);
  await keepBars(store, "000001", "600519.SH", 4, 10);
  await store.close();
  expect(await run(DAILY, { symbols: ["600519.SH"] })).toMatchObject({
    status: "complete",
    requests: { sent: 0 },
  });
  expect(service.seen).toHaveLength(1);
  expect(await closes(lake)).toEqual([{ symbol: "600519.SH", closes: [10, 10, 11, 11, 11] }]);
});

test("older statements make no version where newer ones have landed", async () => {
  const sheetOf = (total_assets: number) => ({ period_end: "2023-09-30", announce_date: null, total_assets });
  const { lake, run } = await scriptedMarket((seen, response) => {
    const symbols = (seen.query.get("symbols") ?? "").split(",");
    json(response, 200, { data: Object.fromEntries(symbols.map((one) => [one, [sheetOf(11)]])) });
  }, NOW);
  const sheets: PipelineDefinition = { name: "sheets", kind: "statements", tables: ["balance_sheet"] };
  await run(sheets, { symbols: ["600519.SH"] });
  const store = ResponseSpool.of(lake, DEAD);
  const rows = ["600519.SH", "000001.SZ"].map((symbol) => ({ symbol, ...sheetOf(10), source: "dead" }));
  const record = recordOf("000001", { dataset: BALANCE_SHEET.name, symbols: ["600519.SH", "000001.SZ"] });
  const columns = [
    ...BALANCE_SHEET.columns.filter(({ name }) =>
      ["symbol", "period_end", "announce_date", "total_assets"].includes(name),
    ),
    { name: "source", type: "string", doc: "" } as const,
    { name: "line", type: "int64", doc: "" } as const,
  ];
  const entry = { records: [record], issues: [] };
  await store.store("000001", { dataset: BALANCE_SHEET.name, columns, rows, entry } satisfies RecordsNote);
  await store.close();
  expect((await run(sheets, { symbols: ["600519.SH"] })).status).toBe("complete");
  const query = "SELECT symbol, total_assets FROM live ORDER BY symbol";
  expect(await liveRows(await openSession(), lake, BALANCE_SHEET, query)).toEqual([
    { symbol: "000001.SZ", total_assets: 10 },
    { symbol: "600519.SH", total_assets: 11 },
  ]);
});

test("bars that were committed before the ledger failed: what was set aside of them is still reported and requested again", async () => {
  const badDay = MONDAY + 2 * DAY;
  const spoilt: Script = (seen, response) => {
    const [start, end] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
    const days = [0, 1, 2, 3, 4].map((n) => MONDAY + n * DAY).filter((ms) => ms >= start && ms <= end);
    const high = days.map((ms) => (ms === badDay ? 1 : 10));
    json(response, 200, { data: { "600519.SH": { ...bodyOf(days, 10), high } } });
  };
  const { service, lake, run, clock } = await scriptedMarket(spoilt, NOW);
  const { storage } = lake;
  const putFileIfAbsent = storage.putFileIfAbsent.bind(storage);
  const fullDisk: typeof putFileIfAbsent = async (localFile, path) => {
    if (path.startsWith("requests/"))
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    return putFileIfAbsent(localFile, path);
  };
  Object.assign(storage, { putFileIfAbsent: fullDisk });
  const symbols = ["600519.SH"];
  await run(DAILY, { symbols }).catch(() => {});
  Object.assign(storage, { putFileIfAbsent });
  expect(await closes(lake)).toEqual([{ symbol: "600519.SH", closes: [10, 10, 10, 10] }]);
  clock.advance(60_000);
  const window = { start: badDay, end: badDay + DAY };
  const recovered = await run(DAILY, { symbols });
  expect(recovered.status).toBe("partial");
  expect(recovered.completeness[0]?.setAside[0]).toEqual({ symbol: "600519.SH", window, bars: 1 });
  expect(recovered.rejected).toMatchObject([{ rule: "high_below_low" }, {}]);
  const { query } = service.seen.at(-1) as (typeof service.seen)[number];
  expect([Number(query.get("start_time")), Number(query.get("end_time"))]).toEqual([
    window.start,
    window.end - 1,
  ]);
  service.script = returning(10);
  clock.advance(DAY);
  expect(await run(DAILY, { symbols })).toMatchObject({ status: "complete" });
  expect(await closes(lake)).toEqual([{ symbol: "600519.SH", closes: [10, 10, 10, 10, 10] }]);
});

test("responses that cannot be landed, of a spool that cannot be given up: both are reported", async () => {
  const { lake, clock, client } = await scriptedMarket(returning(11), NOW);
  const store = ResponseSpool.of(lake, DEAD);
  const note: RecordsNote = {
    dataset: "no_such_table",
    columns: [],
    rows: [],
    entry: { records: [recordOf("000001", {})], issues: [] },
  };
  await store.store("000001", note);
  await store.close();
  const report = await runPipeline(
    definePipeline(DAILY),
    { symbols: ["600519.SH"] },
    {
      lake,
      client,
      clock,
      // It is in use then, and its owner's record can no longer be removed.
      onProgress: ({ doing }) => {
        if (!doing.startsWith("landing what an earlier run")) return;
        const spool = join(lake.location, "spool");
        for (const name of readdirSync(spool)) makeUnremovable(join(spool, name));
      },
    },
  );
  expect(report.failures.map(({ reason }) => reason)).toEqual([
    "response of an unknown table no_such_table",
    expect.stringContaining("owner.json"),
  ]);
});
