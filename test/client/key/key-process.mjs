/**
 * A process that sends as many requests as its part of a key permits, until it is told to end or is killed: the built
 * program. Its time is what the test says, and each request says its name and its time.
 */
import { setTimeout as delay } from "node:timers/promises";
import { KeyShares } from "../../../dist/client/key/key-shares.js";
import { ServiceClient } from "../../../dist/client/service-client.js";
import { folderLeases } from "../../../dist/lease/folder-leases.js";
import { ENDPOINTS } from "../../../dist/wire/endpoints.js";

const [baseUrl, folder, name, rpm, start] = process.argv.slice(2);
let now = Number(start);
const ending = new AbortController();
process.on("message", (order) => {
  if (order === "end") ending.abort();
  else now = order;
});
process.on("disconnect", () => process.exit());

const sleep = (ms, signal) => delay(Math.min(ms, 10), undefined, { signal });
const clock = { now: () => now, sleep, idle: sleep };
const store = { ...folderLeases(folder), now: async () => now };
const quota = () => ({
  sentLately: client.quota.sentLately,
  giveUp: (share) => client.quota.giveUp(share),
  setShare(share, taken) {
    process.send("has a part");
    return client.quota.setShare(share, taken);
  },
});
const shares = new KeyShares({ store, host: "service", purpose: `run ${name}`, clock, quota });
const client = new ServiceClient({
  baseUrl,
  apiKey: "key",
  clock,
  requestsPerMinute: Number(rpm),
  right: shares,
});
await Promise.all([work(), work()]);
await client.close();
await shares.release();
process.exit();

async function work() {
  while (!ending.signal.aborted) {
    const query = { name, at: 0 };
    const say = () => {
      query.at = now;
    };
    await client
      .ask({ endpoint: ENDPOINTS.exchanges, query }, readAll, undefined, say, ending.signal)
      .catch((error) => {
        if (!ending.signal.aborted) throw error;
      });
  }
}

async function readAll(body) {
  for await (const _ of body);
}
