import { expect, test } from "vitest";
import { parquetSessions } from "../../../../src/dataset/store/copy-rows.js";
import { temporaryLake } from "../../../lake/temporary-lake.js";

test("sessions have the memory of the build, and its signal interrupts their statements", async () => {
  const stopped = new AbortController();
  const lake = temporaryLake();
  const sessions = parquetSessions({ lake, memoryLimit: "200MB", signal: stopped.signal });
  try {
    const [limit] = await sessions.use((session) =>
      session.json<{ memory: string }>("SELECT current_setting('memory_limit') AS memory"),
    );
    expect(limit?.memory).toBe("190.7 MiB");
    const endless = sessions.use((session) =>
      session.run("SELECT sum(hash(a.range, b.range)) FROM range(10000000) a, range(10000000) b"),
    );
    stopped.abort();
    await expect(endless).rejects.toThrow(/interrupted/i);
  } finally {
    sessions.close();
  }
});
