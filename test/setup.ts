import fc from "fast-check";

/** Seed of every property and of every random moment in the tests: a run is repeatable, and `TEST_SEED` tries another. */
export const SEED = Number(process.env.TEST_SEED ?? 20_260_101);

fc.configureGlobal({ seed: SEED });
