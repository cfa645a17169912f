import type { Bindings, Session } from "./session.js";

/** The number of rows of a relation. @param source what follows FROM: a table or a query, and conditions on its rows. */
export async function countRows(
  session: Pick<Session, "json">,
  source: string,
  bindings?: Bindings,
): Promise<number> {
  const [found] = await session.json<{ n: number }>(`SELECT count(*)::DOUBLE AS n FROM ${source}`, bindings);
  return found?.n ?? 0;
}
