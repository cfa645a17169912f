import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { askEach } from "../../../src/jobs/run/request/request-sender.js";

test("the first error is thrown once all that was in flight has ended, and nothing more begins", async () => {
  const events: string[] = [];
  let resolve = (): void => {};
  const slow = new Promise<void>((done) => (resolve = done));
  const ask = async (name: string): Promise<void> => {
    events.push(`${name} begins`);
    if (name === "slow") await slow;
    else throw new Error(name);
    events.push(`${name} ends`);
  };
  const stop = (): unknown => events.push("nothing more is sent");
  const asked = askEach({ stop }, ["slow", "bad", "late"], ask, 2).catch((error: Error) =>
    events.push(`thrown: ${error.message}`),
  );
  for (let n = 0; n < 10; n++) await turn();
  expect(events).toEqual(["slow begins", "bad begins", "nothing more is sent"]);
  resolve();
  await asked;
  expect(events.slice(3)).toEqual(["slow ends", "thrown: bad"]);
});
