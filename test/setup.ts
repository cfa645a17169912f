import fc from "fast-check";
import { afterAll, afterEach, TestRunner } from "vitest";
import { compareBytes } from "./equal-bytes.js";
import { clearNotes, notesOfHooks, notesOfTest } from "./failure-notes.js";
import { processorTime } from "./processor-time.js";
import { reuseDatabases } from "./reused-databases.js";
import { SEED } from "./seed.js";

export { SEED };

declare module "vitest" {
  interface TaskMeta {
    /** Of a file: the processor time of its tests, and of all processes that they started, in seconds. */
    processorSeconds?: number;
  }
}

fc.configureGlobal({ seed: SEED });
compareBytes();
if (process.env.TEST_FRESH !== "1") reuseDatabases();

const before = processorTime();
const { file } = TestRunner.getCurrentSuite();
const show = (notes: string | undefined): void => {
  if (notes !== undefined) console.error(notes);
};
afterEach(({ task }) => show(notesOfTest(task)));
afterAll(() => {
  show(notesOfHooks(file));
  clearNotes();
  file.meta.processorSeconds = Math.max(0, processorTime() - before);
});
