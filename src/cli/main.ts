#!/usr/bin/env node
import { runCli } from "./program.js";

// A reader such as head may close the pipe early: that is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

process.exitCode = await runCli(process.argv);
