import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** A zone with an offset of 5:45, so that code which reads the machine's zone by mistake shows it. */
const TZ = process.env.TEST_TZ ?? "Asia/Kathmandu";
process.env.TZ = TZ;

export default defineConfig({
  resolve: { alias: { barlake: fileURLToPath(new URL("./src/index.ts", import.meta.url)) } },
  test: {
    env: { TZ },
    include: ["test/**/*.test.ts"],
    pool: "forks",
    setupFiles: ["test/setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 30_000,
    coverage: { provider: "v8", include: ["src/**"] },
  },
});
