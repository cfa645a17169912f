import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { isRunning, stateOf, thisProcess } from "../../src/lease/owner.js";

test("a process runs until it has ended, and what is no process id runs never", () => {
  expect(isRunning(process.pid)).toBe(true);
  // It has ended, and was waited for: its id is free.
  expect(isRunning(spawnSync(process.execPath, ["-e", ""]).pid)).toBe(false);
  for (const none of [Number.NaN, 1.5, 2 ** 40]) expect(isRunning(none)).toBe(false);
});

test.runIf(process.platform === "linux")(
  "a process whose parent does not ask for its exit code has ended",
  async () => {
    // The shell starts a child, says its number, and becomes a program that asks for no exit code.
    const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n"), 10_000);
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 10_000);
    // It is still in the table of processes.
    expect(() => process.kill(pid, 0)).not.toThrow();
  },
);

test.runIf(process.platform === "linux" && process.getuid?.() !== 0)("another user's process runs", () => {
  expect(isRunning(1)).toBe(true);
});

test("processes know each other by the machine's boot, not by its name, which containers may share", () => {
  const own = thisProcess();
  const ended = { ...own, pid: 2 ** 22 + 1 };
  expect([stateOf(own), stateOf(ended)]).toEqual(["running", "ended"]);
  expect(stateOf({ ...ended, machine: "another container" })).toBe("unknown");
  expect(stateOf({ ...own, host: "renamed" })).toBe("running");
  // Records of earlier releases have the name alone.
  expect(stateOf({ host: own.host, pid: ended.pid })).toBe("ended");
  expect(stateOf({ host: "elsewhere", pid: ended.pid })).toBe("unknown");
});

test("a process of an earlier boot of this machine has ended; one of a machine or container of the same name may run", () => {
  const [boot, other, namespace, inner, installed, image] = ["a", "b", "c", "d", "e", "0"].map((one) =>
    one.repeat(12),
  );
  const here = { host: "name", pid: 1, machine: `${boot}-${namespace}-${installed}` };
  const state = (machine: string, host = here.host) => stateOf({ host, pid: process.pid, machine }, here);
  expect(state(here.machine)).toBe("running");
  expect(state(`${boot}-${namespace}-${image}`)).toBe("running");
  expect(state(`${other}-${namespace}-${installed}`)).toBe("ended");
  for (const machine of [
    `${boot}-${inner}-${image}`,
    `${other}-${namespace}-${image}`,
    `${other}-${namespace}-${"f".repeat(12)}`,
    "0".repeat(32),
  ])
    expect(state(machine), machine).toBe("unknown");
  expect(state(`${other}-${namespace}-${installed}`, "elsewhere")).toBe("unknown");
  const container = { ...here, machine: `${boot}-${namespace}-${image}` };
  expect(stateOf({ ...container, machine: `${other}-${namespace}-${image}` }, container)).toBe("unknown");
});

test.runIf(process.platform === "linux" && process.getuid?.() === 0)(
  "a container, with separate process numbers, is another machine",
  () => {
    const script = `import { thisProcess } from "${new URL("../../dist/lease/owner.js", import.meta.url).href}"; console.log(JSON.stringify(thisProcess()))`;
    const command = [process.execPath, "--input-type=module", "-e", script];
    const inside = spawnSync("unshare", ["--pid", "--fork", "--mount-proc", ...command], {
      encoding: "utf8",
    });
    if (inside.status !== 0) return;
    const { host, machine } = JSON.parse(inside.stdout) as { host: string; machine: string };
    expect([host, machine === thisProcess().machine]).toEqual([thisProcess().host, false]);
  },
);
