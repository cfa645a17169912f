import fc from "fast-check";
import { afterAll, TestRunner } from "vitest";
import { processorTime } from "./processor-time.js";
import { SEED } from "./seed.js";

export { SEED };

declare module "vitest" {
  interface TaskMeta {
    /** Of a file: the processor time of its tests, and of all processes that they started, in seconds. */
    processorSeconds?: number;
  }
}

fc.configureGlobal({ seed: SEED });

const before = processorTime();
const { file } = TestRunner.getCurrentSuite();
afterAll(() => {
  file.meta.processorSeconds = Math.max(0, processorTime() - before);
});
