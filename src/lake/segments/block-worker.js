// @ts-check
/* The thread of block-thread.ts; JavaScript, so that Node runs it also from the sources. */

import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { crc32 } from "node:zlib";

/** @import { BlockRequest, ReadBlocks } from "./block-thread.js" */

/**
 * @param {number} descriptor
 * @param {number} offset
 * @param {number} checksum
 * @param {Uint8Array} block
 */
function faultOf(descriptor, offset, checksum, block) {
  try {
    const isWhole = readSync(descriptor, block, 0, block.length, offset) === block.length;
    return isWhole && crc32(block) === checksum ? undefined : "it is not what was written";
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

parentPort?.on("message", (/** @type {BlockRequest} */ { memory, places }) => {
  let failed = -1;
  let reason;
  for (let at = 0, place = 0; place < places.length && failed < 0; place += 4) {
    const [descriptor = 0, offset = 0, length = 0, checksum = 0] = places.subarray(place);
    reason = faultOf(descriptor, offset, checksum, new Uint8Array(memory, at, length));
    if (reason !== undefined) failed = place / 4;
    at += length;
  }
  /** @type {ReadBlocks} */
  const blocks = { memory, failed, reason };
  parentPort?.postMessage(blocks, [memory]);
});
