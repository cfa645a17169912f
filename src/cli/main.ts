#!/usr/bin/env node
import { runCli } from "./program.js";

// A reader that has seen enough, such as head, closes the pipe: that is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

process.exitCode = await runCli(process.argv);
