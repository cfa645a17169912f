import { ident } from "../quote.js";
import type { Bindings, Session } from "./session.js";

let made = 0;

/**
 * A temporary table of a session, for one block: `await using rows = new TempTable(session, "rows")`. Its name is new in
 * the process, so no other statement can mean it by chance, and it is dropped at the end of the block.
 */
export class TempTable implements AsyncDisposable {
  readonly #name: string;
  readonly #session: Pick<Session, "run">;
  /** Whether the table may exist: only a statement that was given its name can have created it. */
  #mayExist = false;

  /** Names a table, and creates nothing yet. @param purpose the beginning of the name: letters of a-z, and underscores. */
  constructor(session: Pick<Session, "run">, purpose: string) {
    this.#name = `${purpose}_${++made}`;
    this.#session = session;
  }

  /** A name that needs no quotes. */
  get name(): string {
    this.#mayExist = true;
    return this.#name;
  }

  /** Creates the table with the rows of a query; it replaces what the table had. */
  async fill(query: string, bindings?: Bindings): Promise<void> {
    await this.#create(`AS ${query}`, bindings);
  }

  /** Creates the table, empty, with columns that are given as in DDL; it replaces what the table had. */
  async define(columns: string): Promise<void> {
    await this.#create(`(${columns})`);
  }

  /** Drops the table, if it exists. */
  async drop(): Promise<void> {
    if (!this.#mayExist) return;
    await this.#session.run(`DROP TABLE IF EXISTS ${ident(this.#name)}`);
    this.#mayExist = false;
  }

  /** A table that cannot be dropped, in an interrupted session for example, ends with the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.drop().catch(() => {});
  }

  async #create(content: string, bindings?: Bindings): Promise<void> {
    await this.#session.run(`CREATE OR REPLACE TEMP TABLE ${ident(this.name)} ${content}`, bindings);
  }
}
