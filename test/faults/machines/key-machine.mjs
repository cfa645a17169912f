/**
 * A machine that uses a key as fast as its part of the quota permits, until it is killed: the built program, with the
 * parts of the key in an object store. It prints a line when it gets its part, and when it lost it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { KeyShares } from "../../../dist/client/key/key-shares.js";
import { ServiceClient } from "../../../dist/client/service-client.js";
import { systemClock } from "../../../dist/client/system-clock.js";
import { objectStorage } from "../../../dist/lake/storage/object-storage.js";
import { openStorePlace } from "../../../dist/object-store/store-place.js";
import { ENDPOINTS } from "../../../dist/wire/endpoints.js";

const [baseUrl, apiKey, place, rpm] = process.argv.slice(2);
const say = (event, facts = {}) => process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);

for (;;) {
  try {
    await useKey();
  } catch (error) {
    say("ended", { reason: String(error) });
    await delay(2000);
  }
}

async function useKey() {
  const storage = objectStorage(await openStorePlace(place, { env: process.env, clock: systemClock }));
  const store = storage.leases("keys/one");
  const quota = () => ({
    sentLately: client.quota.sentLately,
    giveUp: (share) => client.quota.giveUp(share),
    setShare(share, taken) {
      say("share", { share });
      return client.quota.setShare(share, taken);
    },
  });
  const shares = new KeyShares({ store, host: "service", purpose: "run", clock: systemClock, quota });
  const client = new ServiceClient({
    baseUrl,
    apiKey,
    clock: systemClock,
    requestsPerMinute: Number(rpm),
    right: shares,
  });
  const ask = async () => {
    for (;;) {
      try {
        await client.ask({ endpoint: ENDPOINTS.exchanges }, readAll, shares.lost);
      } catch (error) {
        if (shares.lost.aborted) return;
        say("failed", { reason: String(error) });
      }
    }
  };
  await Promise.all([ask(), ask(), ask()]);
  throw shares.lost.reason;
}

async function readAll(body) {
  for await (const _ of body);
}
