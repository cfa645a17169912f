import { collectGarbage } from "./garbage.js";

/** How often the memory is sampled while threads of a database work. */
const LOOK_MS = 2;

/** Runs some work on a clean heap. @returns the peak resident set of the process during it, in bytes. */
export async function watchingMemory(work: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, LOOK_MS);
  try {
    await work();
    return Math.max(peak, process.memoryUsage.rss());
  } finally {
    clearInterval(timer);
  }
}
