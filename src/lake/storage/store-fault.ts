import { messageOf, TransportError } from "../../core/errors.js";
import { isPassingStoreFault } from "../../db/file-fault.js";
import { canPass, isBare404, isListLag, ObjectStoreError } from "../../object-store/http/store-error.js";

/** What to do after a fault of a store: the files may be whole. */
export const STORE_HINT =
  "the store or the network to it is not well, and the file may be whole: try again later";

/** Most causes of an error that are looked at: a chain of errors could be a circle. */
const MAX_CAUSES = 16;

/**
 * Whether a read of a lake failed because its store could not be reached or was not well, so that the same read may succeed
 * later. A store that refuses the credentials, and a file that is damaged, are no such faults.
 */
export function isStoreFault(error: unknown): boolean {
  let one = error;
  for (let n = 0; n < MAX_CAUSES && one instanceof Error; n++) {
    if (one instanceof TransportError || isPassingStoreFault(messageOf(one))) return true;
    if (one instanceof ObjectStoreError) return canPass(one) || isBare404(one) || isListLag(one);
    one = one.cause;
  }
  return false;
}
