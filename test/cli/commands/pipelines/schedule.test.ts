import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { ServiceClient } from "../../../../src/client/service-client.js";
import { definePipeline, type PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../../../src/lake/lake.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { virtualClock } from "../../../faults/clock/virtual-clock.js";
import { json, type ScriptedService, startScripted } from "../../../faults/service/scripted-service.js";
import { dailyBars, right } from "../../../jobs/scripted-market.js";
import { land, openSession, temporaryFolder } from "../../../lake/temporary-lake.js";
import { once } from "../../../once.js";
import { SWEEP } from "../../../sweep.js";
import { runCli, runProcess } from "../../run-cli.js";

const KEY = "a-secret-key";
const MINUTE = 60_000;
const SYMBOLS = Array.from({ length: 150 }, (_, i) => `${600_000 + i}.SH`);

let place: string;
let service: ScriptedService;
let env: Record<string, string>;

beforeEach(async () => {
  place = temporaryFolder();
  service = await startScripted(right);
  env = { BARLAKE_URL: service.url, BARLAKE_API_KEY: KEY, BARLAKE_LAKE: join(place, "lake") };
});

/** A pipeline of days that are long over, in a file of the temporary folder. @returns its definition. */
function pipelineFile(schedule: PipelineDefinition["schedule"], more: object = {}): PipelineDefinition {
  const mine = {
    name: "mine",
    kind: "bars",
    period: "1d",
    from: "2024-01-08",
    to: "2024-01-11",
    symbols: SYMBOLS,
    schedule,
    ...more,
  };
  writeFileSync(join(place, "mine.mjs"), `export default ${JSON.stringify(mine)};\n`);
  return mine as PipelineDefinition;
}

interface Line {
  readonly msg: string;
  readonly status?: string;
  readonly url?: string;
  readonly fault?: string;
  readonly requests?: { readonly sent: number };
  readonly next?: readonly { readonly pipeline: string; readonly at: string }[];
}

/** The whole lines of a log, each of which is JSON. */
function linesOf(stderr: string): Line[] {
  return stderr
    .slice(0, stderr.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

const messages = (stderr: string): string[] =>
  linesOf(stderr).map(({ msg, status }) => (status === undefined ? msg : `${msg}: ${status}`));

/** Gives the process to who waits for it: its first request may be heard of before its log. */
function startedProcess(): {
  child: Promise<ChildProcess>;
  onLog: (text: string, child: ChildProcess) => void;
} {
  let give: (child: ChildProcess) => void = () => {};
  const child = new Promise<ChildProcess>((resolve) => {
    give = resolve;
  });
  return { child, onLog: (_, one) => give(one) };
}

async function recorded(): Promise<
  { status: string; started_at: string; finished_at: string; rows: number }[]
> {
  const { stdout } = await runCli(["runs", "--json"], { env });
  return JSON.parse(stdout);
}

/** Leaves in the lake what a run so long ago would have left. */
async function ranBefore(definition: PipelineDefinition, ms: number): Promise<void> {
  const clock = virtualClock(Date.now() - ms);
  const client = new ServiceClient({ baseUrl: service.url, apiKey: KEY, clock, timeoutMs: 0 });
  await runPipeline(definePipeline(definition), {}, { lake: new Lake(join(place, "lake")), client, clock });
  await client.close();
}

/** A cron expression of one time a day: so many milliseconds ago. */
function dailyAt(msAgo: number): { cron: string } {
  const at = new Date(Date.now() - msAgo);
  return { cron: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *` };
}

once(
  "runs at its times, never two at once, reports figures, health and metrics, and ends with 0 on SIGTERM",
  async () => {
    pipelineFile({ cron: "* * * * * *" });
    let inFlight = 0;
    let most = 0;
    service.script = (seen, response, index) => {
      most = Math.max(most, ++inFlight);
      setImmediate(() => {
        inFlight -= 1;
        right(seen, response, index);
      });
    };
    let watching: Promise<[number, string]> | undefined;
    const { code, stderr } = await runProcess(["schedule", "./mine.mjs", "--metrics-port", "0"], {
      cwd: place,
      env,
      onLog: (text, child) => {
        const lines = linesOf(text);
        if (lines.filter(({ msg }) => msg === "run ended").length < 2 || watching) return;
        const { url } = lines.find((line) => line.url !== undefined) as Line;
        watching = (async (): Promise<[number, string]> => {
          const health = await fetch(`${url}/healthz`);
          return [health.status, await (await fetch(`${url}/metrics`)).text()];
        })().finally(() => child.kill("SIGTERM"));
      },
    });
    expect(code).toBe(0);
    const [health, metrics] = await (watching as Promise<[number, string]>);
    expect(health).toBe(200);
    expect(metrics).toMatch(/^barlake_runs_total\{pipeline="mine",status="complete"\} \d+$/m);
    const lines = linesOf(stderr);
    expect(lines.at(-1)?.msg).toBe("ended");
    expect(lines.find(({ msg }) => msg === "run ended")).toMatchObject({
      status: "complete",
      requests: { sent: 2, answered: 2 },
      landed: [{ table: "bars_1d", inserted: 450 }, { table: "trading_days" }],
    });
    expect(stderr).not.toContain(KEY);
    expect(most).toBeLessThanOrEqual(2);
    const runs = (await recorded()).toReversed();
    expect(runs.length).toBeGreaterThanOrEqual(2);
    for (const [i, run] of runs.slice(1).entries())
      expect(run.started_at >= (runs[i] as (typeof runs)[number]).finished_at).toBe(true);
  },
);

once("says what it waits for", async () => {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
  pipelineFile({ cron: `0 0 1 ${month} *` });
  const { code, stderr } = await runProcess(["schedule", "./mine.mjs", "--no-catch-up"], {
    cwd: place,
    env,
    onLog: (text, child) => {
      if (messages(text).at(-1) === "waiting") child.kill("SIGTERM");
    },
  });
  expect([code, ...messages(stderr)]).toEqual([0, "waiting", "ended"]);
  const at = expect.stringContaining(`-${String(month).padStart(2, "0")}-01T00:00:00`);
  expect(linesOf(stderr)[0]?.next).toMatchObject([{ pipeline: "mine", at }]);
});

test.skipIf(SWEEP === "few")(
  "SIGTERM in the middle of a run: exit code 0, and what it received is stored",
  async () => {
    pipelineFile({ cron: "* * * * * *" });
    const { child, onLog } = startedProcess();
    service.script = (seen, response, index) => {
      if (seen.query.get("symbols")?.includes("600149.SH")) void child.then((one) => one.kill("SIGTERM"));
      else right(seen, response, index);
    };
    const { code, stderr } = await runProcess(["schedule", "./mine.mjs"], { cwd: place, env, onLog });
    expect(code).toBe(0);
    expect(messages(stderr).slice(-2)).toEqual(["run ended: interrupted", "ended"]);
    expect(await recorded()).toMatchObject([{ status: "interrupted" }]);
    service.script = right;
    const after = await runCli(["run", "./mine.mjs", "--json"], { cwd: place, env });
    expect(JSON.parse(after.stdout)).toMatchObject({ status: "complete" });
    const { stdout } = await runCli(["sql", "--format", "csv", "SELECT count(*) AS n FROM bars_1d"], { env });
    expect(stdout).toBe("n\n450\n");
  },
);

test.skipIf(SWEEP === "few")(
  "a run that is killed is run again by the next schedule; one that is done is not",
  async () => {
    const definition = pipelineFile(dailyAt(60 * MINUTE));
    await ranBefore({ ...definition, from: "2024-01-09" } as PipelineDefinition, 150 * MINUTE);
    const { child, onLog } = startedProcess();
    service.script = () => void child.then((one) => one.kill("SIGKILL"));
    const killed = await runProcess(["schedule", "./mine.mjs"], { cwd: place, env, onLog });
    expect(killed.code).toBeNull();
    expect(messages(killed.stderr)).toEqual(["run started"]);
    service.script = right;
    const untilItWaits = (parameters: readonly string[]) =>
      runProcess(["schedule", "./mine.mjs", ...parameters], {
        cwd: place,
        env,
        onLog: (text, one) => {
          if (messages(text).at(-1) === "waiting") one.kill("SIGTERM");
        },
      });
    expect(messages((await untilItWaits(["--no-catch-up"])).stderr)).toEqual(["waiting", "ended"]);
    const missed = await untilItWaits([]);
    expect(messages(missed.stderr)).toEqual(["run started", "run ended: complete", "waiting", "ended"]);
    expect(messages((await untilItWaits([])).stderr)).toEqual(["waiting", "ended"]);
  },
);

once(
  "without names it runs the project's pipelines and reference, and names what it leaves out",
  async () => {
    pipelineFile(dailyAt(5 * MINUTE));
    mkdirSync(join(place, "pipelines"));
    renameSync(join(place, "mine.mjs"), join(place, "pipelines", "mine.mjs"));
    const { stderr } = await runProcess(["schedule", "--no-catch-up"], {
      cwd: place,
      env,
      onLog: (text, one) => {
        if (messages(text).at(-1) === "waiting") one.kill("SIGTERM");
      },
    });
    const [leftOut, waiting] = linesOf(stderr);
    expect(leftOut).toMatchObject({
      msg: expect.stringMatching(/^not scheduled/),
      pipelines: ["daily", "financials", "intraday", "minute"],
    });
    expect(waiting?.next?.map(({ pipeline }) => pipeline).sort()).toEqual(["mine", "reference"]);
  },
);

once(
  "--once runs what is due and ends with the exit code of the worst run; then nothing is due",
  async () => {
    pipelineFile(dailyAt(5 * MINUTE));
    service.script = (_, response) => json(response, 401, { code: "UNAUTHORIZED", message: "no" });
    const runOnce = () => runCli(["schedule", "--once", "./mine.mjs"], { cwd: place, env });
    const refused = await runOnce();
    expect(refused.code).toBe(3);
    expect(messages(refused.stderr)).toEqual(["run started", "run ended: refused"]);
    const again = await runOnce();
    expect([again.code, ...messages(again.stderr)]).toEqual([0, "nothing is due"]);
  },
);

/** A webhook that takes the first notice at the second try. */
async function webhook(): Promise<{ url: string; bodies: () => Record<string, unknown>[] }> {
  const taken: string[] = [];
  const hook = await startScripted(({ body }, response: ServerResponse, index) => {
    if (index === 0) return json(response, 500, "not yet");
    taken.push(body);
    return json(response, 200, "ok");
  });
  return { url: `${hook.url}/secret-path`, bodies: () => taken.map((body) => JSON.parse(body)) };
}

test.skipIf(SWEEP === "few")(
  "a webhook gets a refused run and the recovery; its address is in no log",
  async () => {
    pipelineFile({ cron: "* * * * * *" }, { notify: { webhook: "env:MY_HOOK" } });
    const hook = await webhook();
    service.script = (_, response) => json(response, 401, { code: "UNAUTHORIZED", message: "no" });
    const { code, stderr } = await runProcess(["schedule", "./mine.mjs"], {
      cwd: place,
      env: { ...env, MY_HOOK: hook.url },
      onLog: (_, child) => {
        if (hook.bodies().length > 0) service.script = right;
        if (hook.bodies().at(-1)?.recovered && !child.killed) child.kill("SIGTERM");
      },
    });
    expect(code).toBe(0);
    const [first, ...more] = hook.bodies();
    expect(first).toMatchObject({
      pipeline: "mine",
      status: "refused",
      recovered: false,
      stopped: expect.stringContaining("UNAUTHORIZED"),
      text: expect.stringMatching(/^barlake: mine ended refused: 0 of \d requests answered/),
    });
    expect(more.at(-1)).toMatchObject({ status: "complete", recovered: true });
    expect(stderr).not.toMatch(/secret/);
  },
);

test("--test-notify sends a test report, says what came back, and asks the service nothing", async () => {
  pipelineFile({ cron: "* * * * * *" });
  const hook = await webhook();
  const tested = () =>
    runCli(["schedule", "--test-notify", "./mine.mjs"], {
      cwd: place,
      env: { ...env, BARLAKE_WEBHOOK: hook.url },
    });
  const refused = await tested();
  expect(refused).toMatchObject({ code: 1, stderr: "" });
  expect(refused.stdout).toMatch(
    /^not accepted: webhook at 127\.0\.0\.1:\d+: answered with status 500 \(of mine\)\ncheck the whole address /,
  );
  const accepted = await tested();
  expect(accepted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^accepted: webhook at 127\.0\.0\.1:\d+ \(of mine\)\n$/),
  });
  expect(refused.stdout + accepted.stdout).not.toMatch(/secret/);
  expect(hook.bodies()).toMatchObject([
    { pipeline: "test", text: expect.stringMatching(/^barlake: a test\./) },
  ]);
  expect(service.seen).toHaveLength(0);
});

test.skipIf(SWEEP === "few")("a running schedule takes another key of .env for its next run", async () => {
  pipelineFile({ cron: "* * * * * *" });
  const { BARLAKE_API_KEY: _, ...others } = env;
  const dotenv = (key: string) => writeFileSync(join(place, ".env"), `BARLAKE_API_KEY=${key}\n`);
  dotenv("an-old-secret");
  service.script = (seen, response, index) => {
    if (seen.headers["x-api-key"] === KEY) return right(seen, response, index);
    dotenv(KEY);
    json(response, 401, { code: "UNAUTHORIZED", message: "no" });
  };
  const { stderr } = await runProcess(["schedule", "./mine.mjs"], {
    cwd: place,
    env: others,
    onLog: (text, child) => {
      if (messages(text).includes("run ended: complete")) child.kill("SIGTERM");
    },
  });
  expect(messages(stderr)).toEqual(expect.arrayContaining(["run ended: refused", "run ended: complete"]));
  expect(stderr).not.toMatch(/secret/);
});

once("run notifies the webhook too; a failed notification does not change the run", async () => {
  pipelineFile([]);
  const hook = await webhook();
  service.script = (_, response) => json(response, 403, { code: "NO_KLINE_BATCH_PERMISSION", message: "no" });
  const run = (target: string) =>
    runCli(["run", "./mine.mjs"], { cwd: place, env: { ...env, BARLAKE_WEBHOOK: target } });
  expect((await run(hook.url)).code).toBe(3);
  expect(hook.bodies()).toMatchObject([{ status: "refused", run_id: expect.any(String) }]);
  const gone = await startScripted((_, response) => json(response, 404, "gone"));
  const failed = await run(`${gone.url}/secret-path`);
  expect(failed.code).toBe(3);
  expect(failed.stderr).toMatch(
    /the webhook was not notified: webhook at 127\.0\.0\.1:\d+: answered with status 404/,
  );
  expect(failed.stderr + failed.stdout).not.toMatch(/secret-path/);
  service.script = (seen, response) => json(response, 200, { data: dailyBars(seen) });
  expect((await run(hook.url)).code).toBe(0);
  expect(hook.bodies().at(-1)).toMatchObject({ status: "complete", recovered: true });
  await run(hook.url);
  expect(hook.bodies()).toHaveLength(2);
  // A mistake in the command is no news for the team.
  const typed = ["run", "./mine.mjs", "--symbols", "600000"];
  expect(await runCli(typed, { cwd: place, env: { ...env, BARLAKE_WEBHOOK: hook.url } })).toMatchObject({
    code: 2,
  });
  await runCli(["run", "./mine.mjs", "--from", "2024-01-09", "--to", "2024-01-01"], {
    cwd: place,
    env: { ...env, BARLAKE_WEBHOOK: hook.url },
  });
  expect(hook.bodies()).toHaveLength(2);
});

test.skipIf(SWEEP === "few")(
  "of several schedules with one lake one leads; when it is killed, another one goes on, and reports each run once",
  async () => {
    pipelineFile({ cron: "* * * * * *" });
    const first = startedProcess();
    const leading = runProcess(["schedule", "./mine.mjs"], { cwd: place, env, onLog: first.onLog });
    const leader = await first.child;
    const runsIn = (text: string): number => linesOf(text).filter(({ msg }) => msg === "run ended").length;
    let [isKilled, isEnding] = [false, false];
    let looking: Promise<void> | undefined;
    const lookAt = async (url: string): Promise<void> => {
      const health = await fetch(`${url}/healthz`);
      expect([health.status, await health.json()]).toMatchObject([
        200,
        { status: "standby", pipelines: [{ pipeline: "mine", role: "standby", leader: expect.any(String) }] },
      ]);
      const runOnce = await runCli(["schedule", "--once", "./mine.mjs"], { cwd: place, env });
      expect([runOnce.code, ...messages(runOnce.stderr)]).toEqual([0, "another schedule leads"]);
    };
    const second = runProcess(["schedule", "./mine.mjs", "--metrics-port", "0"], {
      cwd: place,
      env,
      onLog(text, child) {
        if (isKilled && !isEnding && runsIn(text) >= 2) isEnding = child.kill("SIGTERM");
        if (isKilled || !messages(text).includes("standing by")) return;
        isKilled = true;
        const { url } = linesOf(text).find((line) => line.url !== undefined) as Line;
        looking = lookAt(url as string).finally(() => leader.kill("SIGKILL"));
      },
    });
    await leading;
    await looking;
    const { code, stderr } = await second;
    expect(code).toBe(0);
    const said = messages(stderr);
    expect(said.slice(said.indexOf("standing by") + 1)).toContain("run ended: complete");
    expect(linesOf(stderr).find(({ msg }) => msg === "standing by")).toMatchObject({
      leader: expect.stringMatching(new RegExp(`^process ${leader.pid} on .+, since 20`)),
    });
    expect(said.indexOf("run started")).toBeGreaterThan(said.indexOf("standing by"));
    const runs = (await recorded()).toReversed();
    for (const [i, run] of runs.slice(1).entries())
      expect(run.started_at >= (runs[i] as (typeof runs)[number]).finished_at).toBe(true);
  },
);

once("a pipeline without a schedule is not scheduled", async () => {
  pipelineFile([]);
  const { code, stderr } = await runCli(["schedule", "./mine.mjs"], { cwd: place, env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/pipeline mine: has no schedule[\s\S]*hint: +give it one/);
});

once(
  "--once verifies a part of the lake; a damaged file is reported, and makes the exit code 1",
  async () => {
    writeFileSync(
      join(place, "idle.mjs"),
      `export default ${JSON.stringify({ name: "idle", kind: "reference", schedule: { cron: "0 0 1 1 *" } })};\n`,
    );
    const lake = new Lake(join(place, "lake"), { hasDatabase: false });
    // Written years ago, and so not verified since.
    const now = Date.parse("2020-01-01T00:00:00Z");
    await land(await openSession(), lake, BARS_1D, [{ at: "2019-03-06T16:00:00Z" }], { now });
    const [file] = (await lake.snapshot(BARS_1D)).files.values();
    const path = join(lake.location, "bars_1d", (file as { path: string }).path);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
    writeFileSync(path, bytes);
    const hook = await webhook();
    const runOnce = (...more: string[]) =>
      runCli(["schedule", "--once", "--no-catch-up", "./idle.mjs", ...more], {
        cwd: place,
        env: { ...env, BARLAKE_WEBHOOK: hook.url },
      });
    expect((await runOnce("--no-scrub")).code).toBe(0);
    const found = await runOnce();
    expect(found.code).toBe(1);
    expect(messages(found.stderr)).toEqual(["files verified", "nothing is due"]);
    expect(linesOf(found.stderr)[0]).toMatchObject({
      level: 50,
      files: 1,
      damaged: [expect.stringMatching(/^table bars_1d: \S+ is not what was written/)],
      verifiedSince: "2020-01-01T00:00:00.000Z",
    });
    expect(hook.bodies()).toMatchObject([
      {
        pipeline: "scrub",
        status: "failed",
        text: expect.stringMatching(/^barlake: a file of the lake is damaged: table bars_1d/),
      },
    ]);
    // The next part is due a day later.
    expect((await runOnce()).code).toBe(0);
    expect(hook.bodies()).toHaveLength(1);
  },
);

once("--once deletes what only versions before the retention need, once a day", async () => {
  writeFileSync(
    join(place, "idle.mjs"),
    `export default ${JSON.stringify({ name: "idle", kind: "reference", schedule: { cron: "0 0 1 1 *" } })};\n`,
  );
  const lake = new Lake(join(place, "lake"), { hasDatabase: false });
  const session = await openSession();
  for (const [days, close] of [
    [100, 10],
    [50, 11],
    [10, 12],
  ] as const)
    await land(session, lake, BARS_1D, [{ at: "2019-03-06T16:00:00Z", close }], {
      now: Date.now() - days * 86_400_000,
    });
  const vacuumed = async (...more: string[]): Promise<unknown[]> => {
    const args = ["schedule", "--once", "--no-catch-up", "--no-scrub", "./idle.mjs", ...more];
    const { code, stderr } = await runCli(args, { cwd: place, env });
    expect(code).toBe(0);
    return linesOf(stderr).filter(({ msg }) => msg === "vacuumed");
  };
  expect(await vacuumed("--no-vacuum")).toEqual([]);
  expect(await vacuumed()).toMatchObject([{ level: 30, files: 1, logEntries: 0, errors: [] }]);
  // The next time is a day later.
  expect(await vacuumed("--retention", "0h")).toEqual([]);
  rmSync(join(place, "lake", "verified"), { recursive: true });
  expect(await vacuumed("--retention", "0h")).toMatchObject([{ files: 1 }]);
});
