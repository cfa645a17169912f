import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** A zone with an offset of 5:45, so that code which reads the machine's zone by mistake shows it. */
const TZ = process.env.TEST_TZ ?? "Asia/Kathmandu";
process.env.TZ = TZ;

/** Ends what hangs; on a slow machine nothing else takes as long. */
const PATIENCE_MS = 300_000;

export default defineConfig({
  resolve: { alias: { barlake: fileURLToPath(new URL("./src/index.ts", import.meta.url)) } },
  test: {
    env: { TZ },
    include: ["test/**/*.test.ts"],
    pool: "forks",
    setupFiles: ["test/setup.ts"],
    testTimeout: PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    coverage: { provider: "v8", include: ["src/**"] },
  },
});
