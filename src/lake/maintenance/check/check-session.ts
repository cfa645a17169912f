import { Session } from "../../../db/session.js";

/** The session in which a check reads files: opened at its first use, and again after a damaged file. */
export class CheckSession implements Disposable {
  #session: Session | undefined;

  async open(): Promise<Session> {
    this.#session ??= await Session.open();
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
