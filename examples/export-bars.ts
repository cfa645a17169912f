/*
 * Bars of a service as one Arrow file, written while they arrive: any number of them in bounded memory.
 *
 *   BARLAKE_URL=... BARLAKE_API_KEY=... npx tsx examples/export-bars.ts SYMBOLS FROM FILE
 */
import { writeFile } from "node:fs/promises";
import { batchesToIpc, connect } from "barlake";

const [symbols = "600330.SH", from = "2026-01-01", file = "bars.arrow"] = process.argv.slice(2);
await using service = connect();
const bars = service.klines.stream(symbols.split(","), { from });
await writeFile(file, batchesToIpc(bars, "file"));
const { unknown, rejected, requests } = bars.report;
console.log(
  `${file}: ${requests} requests, ${rejected} bars set aside, unknown: ${unknown.join(", ") || "none"}`,
);
