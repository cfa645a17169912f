import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isRunning, stateOf, thisProcess } from "../../src/lease/owner.js";

test("a process runs until it has ended, and what is no process id runs never", () => {
  expect(isRunning(process.pid)).toBe(true);
  // It has ended, and was waited for: its id is free.
  expect(isRunning(spawnSync(process.execPath, ["-e", ""]).pid)).toBe(false);
  for (const none of [Number.NaN, 1.5, 2 ** 40]) expect(isRunning(none)).toBe(false);
});

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
