import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

const MODULE = new URL("../../dist/cli/cli.js", import.meta.url).href;
/** A process with a handler for signals, which says its id, and has nothing more to do where the call does not end it. */
const SCRIPT = `import { endAtOnce } from ${JSON.stringify(MODULE)};
process.on("SIGINT", () => {}).on("SIGTERM", () => {});
process.exitCode = 7;
process.stdout.write(String(process.pid), () => endAtOnce(process.argv[1]));`;
const NODE = [process.execPath, "--input-type=module", "--eval", SCRIPT];

/** Begins a process that is the first one of its namespace, as that of a container is. */
const AS_FIRST = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"];
const HAS_NAMESPACES = spawnSync("unshare", [...AS_FIRST.slice(1), "true"]).status === 0;

async function endOf([command = "", ...parameters]: readonly string[]) {
  const child = execFile(command, parameters);
  let stdout = "";
  child.stdout?.on("data", (piece: string) => {
    stdout += piece;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, pid: Number(stdout), isOwn: Number(stdout) === child.pid };
}

test.each(["SIGINT", "SIGTERM"])("a process is ended by %s", async (signal) => {
  expect(await endOf([...NODE, signal])).toMatchObject({ code: null, signal, isOwn: true });
});

test.skipIf(!HAS_NAMESPACES).each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
])(
  "the first process of a container ends at %s with %i (where unshare is permitted)",
  async (signal, code) => {
    expect(await endOf([...AS_FIRST, ...NODE, signal])).toMatchObject({ code, signal: null, pid: 1 });
  },
);
