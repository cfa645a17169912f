import { test } from "vitest";

/** Whether `npm test` has run the tests of this file already: the long tests run it once more, for the other cases of its sweep. */
export const IS_REPEAT = process.env.TEST_ONCE === "skip";

/** A test that is the same for each size of its file's sweep: the long tests leave it out. */
export const once = IS_REPEAT ? test.skip : test;
