import { type ChildProcess, fork } from "node:child_process";

/** A process that takes orders over IPC, one at a time, and that tests may kill. */
export interface WorkerProcess<Order extends object, Done> {
  /** Resolves with the result, or with undefined if the worker died. @throws if the order failed. */
  perform(order: Order): Promise<Done | undefined>;
  /** Kills the process at once. */
  kill(): void;
  /** Lets the process end. */
  close(): void;
}

/**
 * Starts a worker; it is ready when the promise resolves.
 *
 * @param program sends a message when it is ready, and responds to each order with `{ done }` or `{ failed }`.
 */
export async function startWorker<Order extends object, Done>(
  program: string,
): Promise<WorkerProcess<Order, Done>> {
  const child = fork(program, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", (code, signal) =>
      reject(new Error(`${program} ended at its start: ${code ?? signal}`)),
    );
  });
  return {
    perform: (order) => responseTo<Done>(child, order),
    kill: () => void child.kill("SIGKILL"),
    close: () => {
      if (child.connected) child.disconnect();
    },
  };
}

function responseTo<Done>(child: ChildProcess, order: object): Promise<Done | undefined> {
  return new Promise((resolve, reject) => {
    const onMessage = (response: { done?: Done; failed?: string }): void => {
      child.off("disconnect", onEnd);
      if (response.failed === undefined) resolve(response.done);
      else reject(new Error(response.failed));
    };
    // All messages of a process arrive before its channel ends, which may be after its exit.
    const onEnd = (): void => {
      child.off("message", onMessage);
      resolve(undefined);
    };
    child.once("message", onMessage);
    child.once("disconnect", onEnd);
    // If a process dies before it reads the order, its channel ends, too.
    if (child.connected) child.send(order, () => {});
    else onEnd();
  });
}
