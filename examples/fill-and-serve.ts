/*
 * A separate lake: some symbols of a service, updated by each run, and served to others.
 *
 *   BARLAKE_URL=... BARLAKE_API_KEY=... npx tsx examples/fill-and-serve.ts LAKE SYMBOLS
 */
import { connect, openLake } from "barlake";

const [place = "data/mine", symbols = "600330.SH"] = process.argv.slice(2);
await using service = connect();
await using lake = openLake(place);
const report = await lake.run("daily", { service, symbols: symbols.split(","), from: "2026-01-01" });
console.log(`${report.status}: ${report.requests.sent} requests`);

await using server = await lake.serve({ keys: ["secret"] });
const own = connect({ url: server.url, apiKey: "secret" });
const newest = await own.klines(symbols.split(","), { count: 1 });
for (const { symbol, timestamp, close } of newest.rows()) console.log(symbol, timestamp.toISOString(), close);
await own.close();
