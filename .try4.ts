import { Lake } from "/work/main/src/lake/lake.js";
import { Session } from "/work/main/src/db/session.js";
import { landBars, stageBars } from "/work/main/src/lake/land-bars.js";
import { openRejects } from "/work/main/src/lake/rejects.js";
import { BARS_1D, BARS_1M } from "/work/main/src/schema/bars.js";
import { startService } from "/work/main/src/serve/service.js";
import { existsSync } from "node:fs";
const lake = new Lake("/tmp/serve-bench-lake");
if (!existsSync("/tmp/serve-bench-lake")) {
  using s = await Session.open(); await openRejects(s);
  await stageBars(s, "st");
  await s.run(`INSERT INTO st BY NAME SELECT printf('%06d.SZ', sym) AS symbol, make_timestamptz((1420041600000000 + d*86400000000)::BIGINT) AS timestamp, round(10+random(),2) AS open, round(12+random(),2) high, round(9+random(),2) low, round(11+random(),2) AS close, (random()*1e6)::BIGINT AS volume, round(random()*1e8) amount, round(11+random(),2) prev_close, 100 AS lot FROM range(1000) r(sym), range(3650) q(d) WHERE d % 7 < 5`);
  await landBars(s, lake, BARS_1D, "st", { operation: "T", runId: "t", now: Date.now(), finalEnd: { CN: 4e12, HK: 4e12, US: 4e12 } });
  await stageBars(s, "st");
  await s.run(`INSERT INTO st BY NAME SELECT printf('%06d.SZ', sym) AS symbol, make_timestamptz((1735608600000000 + d*86400000000 + m*60000000)::BIGINT) AS timestamp, round(10+random(),2) AS open, round(12+random(),2) high, round(9+random(),2) low, round(11+random(),2) AS close, (random()*1e6)::BIGINT AS volume, round(random()*1e8) amount, 100 AS lot FROM range(1000) r(sym), range(1, 21) q(d), range(1, 241) x(m)`);
  await landBars(s, lake, BARS_1M, "st", { operation: "T", runId: "t", now: Date.now(), finalEnd: { CN: 4e12, HK: 4e12, US: 4e12 } });
}
const service = await startService(lake, { port: 0, apiKeys: ["k1"], clock: { now: () => Date.now() } });
const bench = async (name: string, path: () => string, par: number) => {
  let n = 0; let bytes = 0; let t = 0;
  const one = async () => { const r = await fetch(service.url + path(), { headers: { "x-api-key": "k1" } }); if (r.status !== 200) throw new Error(await r.text()); bytes = (await r.arrayBuffer()).byteLength; };
  await one(); t = performance.now();
  await Promise.all(Array.from({ length: par }, async () => { while (performance.now() - t < 4000) { await one(); n++; } }));
  console.log(name, `par=${par}`, (n / ((performance.now() - t) / 1000)).toFixed(1), "req/s", bytes, "bytes");
};
const pick = (n: number) => () => { const from = Math.floor(Math.random() * (1000 - n)); return Array.from({ length: n }, (_, i) => String(from + i).padStart(6, "0") + ".SZ").join(); };
const p100 = pick(100), p1 = pick(1);
for (const par of [1, 4]) {
  await bench("1d 100x100 none", () => `/v1/klines/batch?symbols=${p100()}&adjust=none`, par);
  await bench("1d 100x100 forward (random events on every day)", () => `/v1/klines/batch?symbols=${p100()}`, par);
  await bench("1d 1x100 none", () => `/v1/klines/batch?symbols=${p1()}&adjust=none`, par);
  await bench("1d 100x10000(2607) none", () => `/v1/klines/batch?symbols=${p100()}&adjust=none&count=10000`, par);
  await bench("1m 100x240 none", () => `/v1/klines/batch?symbols=${p100()}&adjust=none&period=1m&count=240`, par);
  await bench("60m 100x20 none", () => `/v1/klines/batch?symbols=${p100()}&adjust=none&period=60m&count=20`, par);
  await bench("1m 1x5000 none", () => `/v1/klines/batch?symbols=${p1()}&adjust=none&period=1m&count=5000`, par);
}
await service.close();
