import { InvalidArgumentError } from "commander";

/** Reads an option that is a whole number of at least 1. */
export function wholeNumber(text: string): number {
  const n = Number(text);
  if (!Number.isSafeInteger(n) || n < 1)
    throw new InvalidArgumentError("must be a whole number of at least 1");
  return n;
}
