import { expect } from "vitest";
import { takenRequests } from "../../../src/client/key/key-share-records.js";
import { thisProcess } from "../../../src/lease/owner.js";
import { eventClock } from "../../faults/clock/event-clock.js";
import { leasesAt } from "../../lease/simulated-machine.js";
import { once } from "../../once.js";

const NOW = Date.parse("2026-11-21T00:01:00Z");

const record = (sent: readonly number[]): string =>
  JSON.stringify({
    ...thisProcess(),
    holder: "other",
    purpose: "run daily",
    since: "2026-11-21T00:00:00Z",
    ask: 1,
    share: 0.5,
    sent: { klines: sent },
  });

once("a record that is replaced while the records are read is found in its successor", async () => {
  const store = leasesAt(eventClock(NOW));
  await store.create("first", record([NOW - 9000]), "acquired");
  let isReplaced = false;
  const changing = {
    ...store,
    async read(id: string) {
      if (!isReplaced) {
        isReplaced = true;
        await store.create("second", record([NOW - 9000, NOW - 5000]), "acquired");
        await store.remove("first");
      }
      return store.read(id);
    },
  };
  const { sent, ids } = await takenRequests(changing, { here: NOW, store: NOW }, new Set());
  // The clock of a store has whole seconds: a request may have been sent one later.
  expect(sent).toEqual({ klines: [NOW - 8000, NOW - 4000] });
  expect([...ids]).toEqual(["first", "second"]);
});

once(
  "a record that counts already is not read again, and one that cannot be read gives nothing",
  async () => {
    const store = leasesAt(eventClock(NOW));
    await store.create("known", record([NOW - 9000]), "acquired");
    await store.create("broken", "{", "acquired");
    const { sent, died, ids } = await takenRequests(store, { here: NOW, store: NOW }, new Set(["known"]));
    expect([sent, died, [...ids]]).toEqual([{}, [], ["broken"]]);
  },
);
