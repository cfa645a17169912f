import { randomUUID } from "node:crypto";
import { systemClock } from "../../src/client/system-clock.js";
import { type ObjectStore, openObjectStore } from "../../src/object-store/object-store.js";
import {
  probeOnce,
  type StorePlace,
  storePlace,
  type WriteAbility,
} from "../../src/object-store/store-place.js";
import { type StoreServer, startStore, storesHere } from "./store-server.js";

/** A store in which tests make empty places, between its start and its stop. */
export interface StorePlaces {
  readonly name: string;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Makes an empty place: the result opens it, as a process does. */
  readonly openerOf: () => () => StorePlace;
}

/** Stores whose programs are here: `count` of them, other ones after another commit. Each is probed once for all of its places. */
export function storePlaces(count: number): StorePlaces[] {
  return storesHere(count).map((store) => placesIn(`objects of ${store.name}`, () => startStore(store)));
}

function placesIn(name: string, startServer: () => Promise<StoreServer>): StorePlaces {
  let server: StoreServer;
  let ability: Promise<WriteAbility>;
  const stores: ObjectStore[] = [];
  return {
    name,
    async start() {
      server = await startServer();
      const { bucket, env } = server;
      // Two clients: what one has cached, the other has not.
      for (let n = 0; n < 2; n++) stores.push(await openObjectStore({ bucket, env, clock: systemClock }));
      ability = probeOnce(stores[0] as ObjectStore, (path) => path);
      await ability;
    },
    async stop() {
      for (const store of stores.splice(0)) await store.close();
      await server.stop();
    },
    openerOf() {
      const prefix = `lake ${randomUUID()}`;
      let opened = 0;
      return () => storePlace(stores[opened++ % stores.length] as ObjectStore, prefix, ability);
    },
  };
}
