import pMap from "p-map";
import { firstOf } from "../../core/release-after.js";
import type { RequestSender } from "../run/request/request-sender.js";

/** Most requests in flight. */
export const CONCURRENCY = 4;

/**
 * Sends several requests at the same time. After the first error no further request is sent. Requests in flight are
 * awaited, because they are paid for: their responses are stored while the run still has their leases. Then the error
 * is thrown.
 */
export async function askEach<T>(
  requests: Pick<RequestSender, "stop">,
  subjects: Iterable<T>,
  ask: (subject: T) => Promise<void>,
  concurrency: number,
): Promise<void> {
  const errors: unknown[] = [];
  const askOne = async (subject: T): Promise<void> => {
    if (errors.length > 0) return;
    try {
      await ask(subject);
    } catch (error) {
      errors.push(error);
      requests.stop();
    }
  };
  await pMap(subjects, askOne, { concurrency });
  if (errors.length > 0) throw firstOf(errors);
}
