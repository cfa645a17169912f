import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { batchesToIpc, queryArrow } from "../../src/index.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "./temporary-lake.js";

test("a lake's rows come as record batches, with bound values, and go on as IPC", async () => {
  const lake = temporaryLake();
  const session = await openSession();
  await land(session, lake, BARS_1D, [
    { symbol: "600519.SH", at: "2026-11-18T16:00:00Z", close: 10.25 },
    { symbol: "600519.SH", at: "2026-11-19T16:00:00Z", close: 10.5 },
    { symbol: "000001.SZ", at: "2026-11-19T16:00:00Z", close: 10.75 },
  ]);
  const batches = queryArrow(
    lake,
    "SELECT trade_date, timestamp, close FROM bars_1d WHERE symbol = $symbol ORDER BY ALL",
    { bindings: { symbol: "600519.SH" } },
  );
  const pieces: Uint8Array[] = [];
  for await (const piece of batchesToIpc(batches, "stream")) pieces.push(piece);
  const table = tableFromIPC(Buffer.concat(pieces));
  expect(table.toArray().map((row) => row?.toJSON())).toEqual([
    { trade_date: Date.parse("2026-11-19"), timestamp: Date.parse("2026-11-18T16:00:00Z"), close: 10.25 },
    { trade_date: Date.parse("2026-11-20"), timestamp: Date.parse("2026-11-19T16:00:00Z"), close: 10.5 },
  ]);
});

test("a reader may stop early", async () => {
  let rows = 0;
  for await (const batch of queryArrow(temporaryLake(), "FROM range(1000000)")) {
    rows += batch.numRows;
    break;
  }
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(65_536);
});
