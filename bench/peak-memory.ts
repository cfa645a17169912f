import { collectGarbage } from "./garbage.js";

/** How often the memory is looked at while threads of a database work. */
const LOOK_MS = 2;

/** Does work on a clean heap. @returns the process's largest resident set meanwhile, in bytes. */
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
