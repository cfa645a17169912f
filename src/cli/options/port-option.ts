import { InvalidArgumentError } from "commander";

/** Reads a TCP port; 0 takes a free one. */
export function portOption(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError("must be 0 to 65535");
  return port;
}
