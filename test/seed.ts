/** What a test run depends on in addition to the code; printed after a failure, so that the run can be repeated. */

/** Seed of every property and of every random time in the tests. `TEST_SEED` gives another one. */
export const SEED = Number(process.env.TEST_SEED ?? 20_260_101);

/** Zone of the tests: its offset of 5:45 reveals code that uses the machine's zone. `TEST_TZ` sets another. */
export const TZ = process.env.TEST_TZ ?? "Asia/Kathmandu";
