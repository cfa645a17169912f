/*
 * The program of a process that runs the statements of users, and reads their results. The workspace starts it, sends
 * it one job at a time, and kills it where a job must end.
 */

import { deleteFolder } from "../../lease/process-folder.js";
import { JobRunner } from "./job-runner.js";
import { errorData, type FromProcess, type ProcessSetting, type ToProcess } from "./jobs.js";
import { watchMemory } from "./memory-watch.js";

let setting: ProcessSetting | undefined;
let runner: JobRunner | undefined;
let taken = (): void => {};
let reportBusy = (_isBusy: boolean): void => {};
/** How many things run: the job, and the opening of what the first job needs. */
let running = 0;

function send(message: FromProcess): void {
  // The channel may have closed: then this process ends.
  process.send?.(message, undefined, undefined, () => {});
}

/** Sends a piece, and waits until it was taken. */
function sendPiece(text: string): Promise<void> {
  return new Promise((resolve) => {
    taken = resolve;
    send({ kind: "piece", text });
  });
}

/** Has the memory watched until some work has ended. */
async function whileBusy(work: Promise<void>): Promise<void> {
  if (running++ === 0) reportBusy(true);
  await work;
  if (--running === 0) reportBusy(false);
}

function begin(given: ProcessSetting): void {
  setting = given;
  reportBusy = watchMemory(given.limits.processBytes);
  runner = new JobRunner(given, { piece: sendPiece, note: (note) => send({ kind: "note", note }) });
  void whileBusy(runner.ready());
}

async function perform({ job, start }: Extract<ToProcess, { readonly kind: "job" }>): Promise<void> {
  try {
    await runner?.perform(job, start);
    send({ kind: "done" });
  } catch (error) {
    send({ kind: "failed", error: errorData(error) });
  }
}

process.on("message", (message: ToProcess) => {
  if (message.kind === "setting") begin(message.setting);
  else if (message.kind === "taken") taken();
  else {
    send({ kind: "begun" });
    void whileBusy(perform(message));
  }
});

// The workspace has ended, or was killed: what it would delete is deleted here.
process.on("disconnect", () => {
  if (setting !== undefined) for (const folder of [setting.spill, setting.results]) deleteFolder(folder);
  // An exit would wait for the threads of DuckDB.
  process.kill(process.pid, "SIGKILL");
});

// The terminal sends its signals to all processes; this one ends when the workspace does.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
