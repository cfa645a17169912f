/** A process that claims a key on request, and releases it, for tests that kill it. It is the built program. */
import { claimKey } from "../../../dist/client/key/key-lock.js";
import { systemClock } from "../../../dist/client/system-clock.js";

let lock;
process.on("message", (order) => {
  perform(order).then(
    () => process.send({ done: order.kind }),
    (error) => process.send({ failed: `${error.name}: ${error.message}`, hint: error.hint }),
  );
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });

async function perform({ kind, now, ...options }) {
  // Time stands still, so that no claim counts as dead or as acquired because the machine is slow.
  if (kind === "hold") lock = await claimKey({ ...options, clock: { ...systemClock, now: () => now } });
  else await lock.release();
}
