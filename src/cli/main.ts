#!/usr/bin/env node
import { existsSync } from "node:fs";

// A reader such as head may close the pipe early: that is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

/** The program in a few files, which the build makes: it starts in half of the time. */
const BUNDLED = new URL("./bundled/program.js", import.meta.url);

const { runCli } = existsSync(BUNDLED)
  ? ((await import(BUNDLED.href)) as typeof import("./program.js"))
  : await import("./program.js");
process.exitCode = await runCli(process.argv);
