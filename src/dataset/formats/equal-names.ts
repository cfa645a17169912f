import { UsageError } from "../../core/errors.js";

/**
 * Refuses names that a format does not distinguish: their files would replace each other.
 *
 * @param subject the dataset, and what the names are of.
 * @param nameOf the name of the file.
 * @param reason what makes them equal, for the message: `qlib, which reads names in lower case`.
 * @throws {UsageError} that names the first two.
 */
export function refuseEqualNames(
  subject: string,
  names: readonly string[],
  nameOf: (name: string) => string,
  reason: string,
): void {
  const first = new Map<string, string>();
  for (const name of names) {
    const other = first.get(nameOf(name));
    if (other !== undefined)
      throw new UsageError(`${subject}: ${other} and ${name} are one to ${reason}`, {
        hint: "leave one of them out",
      });
    first.set(nameOf(name), name);
  }
}
