import { messageOf } from "../../core/errors.js";
import { paint } from "../text/text.js";
import { inOptionWords } from "./option-words.js";

/** The messages of errors that parts of a command met, for its JSON; nothing without an error. */
export function failuresOf(errors: readonly unknown[]): { readonly failures?: readonly string[] } {
  return errors.length === 0 ? {} : { failures: errors.map((error) => inOptionWords(messageOf(error))) };
}

/** Throws the first of the errors that parts of a command met, after it has shown the others. Without one, does nothing. */
export function throwErrors(errors: readonly unknown[]): void {
  for (const error of errors.slice(1))
    process.stderr.write(`${paint("red", "error:")} ${inOptionWords(messageOf(error))}\n`);
  if (errors.length > 0) throw errors[0];
}
