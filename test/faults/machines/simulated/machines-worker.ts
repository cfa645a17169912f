/** A process that simulates the machines of one seed, as ordered over IPC. */
import { simulateMachines } from "./simulate-machines.js";

export interface MachinesOrder {
  readonly seed: number;
  /** An empty folder. */
  readonly place: string;
}

process.on("message", ({ seed, place }: MachinesOrder) => {
  simulateMachines(seed, place).then(
    (done) => process.send?.({ done }),
    (error: unknown) =>
      process.send?.({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ ready: true });
