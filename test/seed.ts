/** What a run of the tests depends on beside the code: said at its end where something failed, so that it can be repeated. */

/** Seed of every property and of every random moment in the tests. `TEST_SEED` gives another. */
export const SEED = Number(process.env.TEST_SEED ?? 20_260_101);

/** Zone of the test processes: its offset of 5:45 shows code that reads the machine's zone by mistake. `TEST_TZ` gives another. */
export const TZ = process.env.TEST_TZ ?? "Asia/Kathmandu";
