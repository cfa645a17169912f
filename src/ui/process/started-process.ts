import { type ChildProcess, fork } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { BarlakeError } from "../../core/errors.js";
import { deleteFolder } from "../../lease/process-folder.js";
import { memoryError } from "../session/session-limits.js";
import {
  errorOf,
  type FromProcess,
  type Job,
  type JobNote,
  type JobStart,
  type ProcessSetting,
  type ToProcess,
} from "./jobs.js";

interface JobReceiver {
  /** Takes a piece. The next one is sent when it has resolved. */
  readonly piece: (text: string) => Promise<void>;
  readonly note: (note: JobNote) => void;
}

/** The program as the build bundles it, which starts in a third of the time. */
const BUNDLED = new URL("../../cli/bundled/query-process.js", import.meta.url);
const BUILT = new URL("./query-process.js", import.meta.url);
const SOURCE = new URL("./query-process.ts", import.meta.url);
/** Most characters of what a process has printed that an error shows. */
const MOST_PRINTED = 500;

export class StartedProcess {
  readonly setting: ProcessSetting;
  readonly #child: ChildProcess;
  /** The error of the ended process; pending until it has ended. */
  readonly #ended: Promise<Error>;
  #hasEnded = false;
  #hasBegun = false;
  #printed = "";

  /** Starts a process. @param environment all of its variables. */
  constructor(setting: ProcessSetting, environment: Readonly<Record<string, string>>) {
    this.setting = setting;
    mkdirSync(setting.ownResults);
    const [program, loader] = programOf();
    this.#child = fork(program, {
      serialization: "advanced",
      env: environment,
      execArgv: loader,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#printed = (this.#printed + text).slice(-MOST_PRINTED);
    });
    this.#ended = this.#end();
    this.#send({ kind: "setting", setting });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether the process has the last job; false where it was ended before. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Performs a job. @throws the error of the job, or the reason why the process has ended. */
  async perform(job: Job, start: JobStart, receiver: JobReceiver): Promise<void> {
    const child = this.#child;
    let onMessage: (message: FromProcess) => void = () => {};
    const done = new Promise<void>((resolve, reject) => {
      onMessage = (message) => {
        if (message.kind === "begun") this.#hasBegun = true;
        else if (message.kind === "done") resolve();
        else if (message.kind === "failed") reject(errorOf(message.error));
        else if (message.kind === "note") receiver.note(message.note);
        else receiver.piece(message.text).then(() => this.#send({ kind: "taken" }), reject);
      };
    });
    child.on("message", onMessage);
    this.#hasBegun = false;
    this.#send({ kind: "job", job, start });
    try {
      await Promise.race([done, this.#ended.then((error) => Promise.reject(error))]);
    } finally {
      child.off("message", onMessage);
    }
  }

  /** Kills the process, and resolves when it has ended: a function of DuckDB cannot be stopped in another way. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  #send(message: ToProcess): void {
    // Where the process has ended, the error of its end follows.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** Waits for the end of the process, and deletes what it has left. @returns why it has ended. */
  async #end(): Promise<Error> {
    const child = this.#child;
    const error = await new Promise<Error>((resolve) => {
      child.on("error", (cause) =>
        resolve(new BarlakeError(`a process for queries cannot be started: ${cause.message}`, { cause })),
      );
      // All messages of the process arrive before its channel closes, which may be after its exit.
      child.once("exit", (code, signal) => {
        const settle = (): void => resolve(this.#reason(code, signal));
        if (child.connected) child.once("disconnect", settle);
        else settle();
      });
    });
    this.#hasEnded = true;
    // A process that was killed has removed nothing. A result whose note was lost is here, too.
    for (const folder of [this.setting.spill, this.setting.ownResults]) deleteFolder(folder);
    return error;
  }

  #reason(code: number | null, signal: NodeJS.Signals | null): Error {
    // It kills itself where it has too much memory, as the machine does; on Windows the code is then 1.
    if (signal === "SIGKILL" || (code === 1 && this.#printed === "")) return memoryError(this.setting.limits);
    const printed = this.#printed.trim();
    return new BarlakeError(
      `the process of the query ended with ${signal ?? `code ${code}`}${printed === "" ? "" : `: ${printed}`}`,
      { hint: "run it again, or with barlake sql" },
    );
  }
}

function programOf(): readonly [path: string, options: string[]] {
  // The watched memory is the limit, and not that of JavaScript, whose excess would end the process with a report.
  const heap = "--max-old-space-size=4096";
  const built = [BUNDLED, BUILT].find((url) => existsSync(url));
  if (built !== undefined) return [fileURLToPath(built), [heap]];
  const loader = createRequire(import.meta.url).resolve("tsx");
  return [fileURLToPath(SOURCE), [heap, "--import", loader]];
}
