/**
 * A process that runs commands of the built command line, one after the other: to load the program takes longer than
 * most commands. An order over IPC has the parameters, the folder, the environment and the standard input of one
 * command. What the command prints goes to this process's own standard output and standard error; a mark in both says
 * that the command has ended. A command that leaves a listener on the process or its streams fails: a shell, which runs
 * many, would collect them.
 */
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { loadPipeline } from "../../dist/cli/bundled/index.js";
import { runCli } from "../../dist/cli/bundled/program.js";
import { limitThreads } from "../threads.mjs";

limitThreads();

// The loader of TypeScript starts its process in the folder in which it was first asked for: that of a test is deleted.
await loadPipeline(fileURLToPath(new URL("first-definition.ts", import.meta.url)));

const home = process.cwd();

process.on("message", (order) => void perform(order));
process.on("disconnect", () => process.exit());
process.send("ready");

async function perform({ parameters, cwd, env, input, mark }) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd ?? home);
  Object.defineProperty(process, "stdin", { value: Readable.from([Buffer.from(input)]), configurable: true });
  const before = listeners();
  let code = null;
  try {
    code = await runCli([process.execPath, "barlake", ...parameters]);
    const left = listeners().filter((name) => !before.includes(name));
    if (left.length > 0) {
      process.stderr.write(`barlake ${parameters[0]} leaves listeners: ${left.join(", ")}\n`);
      code = null;
    }
  } finally {
    // A folder of a test can be deleted only where no process is in it.
    process.chdir(home);
    process.stdout.write(mark);
    process.stderr.write(mark);
    process.send({ code });
  }
}

/** What listens on the process and its streams, but for the end of the process: a package adds that when it is loaded. */
function listeners() {
  return Object.entries({ process, stdout: process.stdout, stderr: process.stderr }).flatMap(
    ([name, emitter]) =>
      emitter
        .eventNames()
        .filter((event) => event !== "exit")
        .flatMap((event) =>
          Array.from(
            { length: emitter.listenerCount(event) },
            (_, index) => `${name} ${String(event)} ${index + 1}`,
          ),
        ),
  );
}
