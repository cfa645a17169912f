import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { json, startScripted } from "../../faults/service/scripted-service.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { pickFrom } from "../../sweep.js";

const PROGRAM = fileURLToPath(new URL("key-process.mjs", import.meta.url));
const LIMIT = 60;
const START = Date.parse("2026-11-20T10:00:00Z");
/** Instants that are so far apart that what is sent at one of them does not count at the next. */
const [BEFORE, AFTER, LATER] = [START, START + 150_000, START + 300_000] as const;

/** After how many requests the sender of the last one is killed, and after how many, at the next instant, one ends. */
const PLANS = [1, 2, 5, 10, 19].flatMap((killedAt) => [1, 7, 30].map((endsAt) => ({ killedAt, endsAt })));

test.each(pickFrom(PLANS, { few: 1, all: PLANS.length }))(
  "processes that begin, are killed and end never send more than the quota, and then use it up: %j",
  async ({ killedAt, endsAt }) => {
    const folder = temporaryFolder();
    const processes = new Map<string, ChildProcess>();
    const counts = new Map<number, number>();
    const watched: { at: number; count: number; found: (name: string) => void }[] = [];
    const service = await startScripted(({ query }, response) => {
      const [at, name] = [Number(query.get("at")), query.get("name") ?? ""];
      const count = (counts.get(at) ?? 0) + 1;
      counts.set(at, count);
      for (const one of watched) if (one.at === at && one.count === count) one.found(name);
      json(response, 200, { data: [] });
    });
    /** The process that sends a request, when it does. */
    const senderOf = (count: number, at: number) =>
      new Promise<string>((found) => void watched.push({ at, count, found }));
    let now: number = BEFORE;
    const begin = (name: string): Promise<unknown> => {
      const args = [service.url, folder, name, LIMIT, now].map(String);
      const child = fork(PROGRAM, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      processes.set(name, child);
      return once(child, "message");
    };
    const over = async (name: string, how: (child: ChildProcess) => void): Promise<void> => {
      const child = processes.get(name) as ChildProcess;
      processes.delete(name);
      const exit = once(child, "exit");
      how(child);
      await exit;
    };
    const end = (child: ChildProcess): void => void child.send("end");
    const goOn = (to: number): void => {
      now = to;
      for (const child of processes.values()) child.send(to);
    };

    const killed = senderOf(killedAt, BEFORE);
    for (const name of ["a", "b", "c"]) void begin(name);
    await over(await killed, (child) => void child.kill("SIGKILL"));
    await begin("d");
    const ended = senderOf(endsAt, AFTER);
    goOn(AFTER);
    await over(await ended, end);
    await begin("e");
    const last = senderOf(LIMIT, LATER);
    goOn(LATER);
    await last;
    for (const name of processes.keys()) await over(name, end);
    expect(counts.get(BEFORE)).toBeLessThanOrEqual(LIMIT);
    expect(counts.get(AFTER)).toBeLessThanOrEqual(LIMIT);
    expect(counts.get(LATER)).toBe(LIMIT);
    expect(counts.size).toBe(3);
  },
);

test("a program that does not close its service ends all the same", async () => {
  const service = await startScripted((_, response) => json(response, 200, { data: [] }));
  const index = new URL("../../../dist/index.js", import.meta.url);
  const program = `
    import { connect } from ${JSON.stringify(index.href)};
    await connect({ url: ${JSON.stringify(service.url)}, apiKey: "key" }).exchanges();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...process.env, XDG_STATE_HOME: temporaryFolder() },
    stdio: ["ignore", "ignore", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(service.seen).toHaveLength(1);
});
