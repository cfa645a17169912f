import { Session } from "../../../db/session/session.js";
import type { SessionOptions } from "../../../db/session/session-options.js";

/** The session in which a check reads files. It is opened at the first use, and again after a damaged file. */
export class CheckSession implements Disposable {
  readonly #options: SessionOptions;
  #session: Session | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  async open(): Promise<Session> {
    if (this.#session?.isBroken) this.discard();
    this.#session ??= await Session.open(this.#options);
    return this.#session;
  }

  /** Closes the session: damaged bytes may have left its database in any state. */
  discard(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  [Symbol.dispose](): void {
    this.discard();
  }
}
