#!/usr/bin/env node
import { existsSync } from "node:fs";

// A reader such as head may close the pipe early: that is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`error: barlake needs Node 20.19 or later, and this is ${process.version}\n`);
  process.stderr.write("hint:  https://nodejs.org/en/download has newer ones\n");
  process.exit(2);
}

/** The program in a few files, which the build makes: it starts in half of the time. */
const BUNDLED = new URL("./bundled/program.js", import.meta.url);

const { runCli } = existsSync(BUNDLED)
  ? ((await import(BUNDLED.href)) as typeof import("./program.js"))
  : await import("./program.js");
process.exitCode = await runCli(process.argv);
