import type { Action } from "./delta-actions.js";

/**
 * Reads the text of a log entry: one action in each line.
 *
 * An entry without an action is an error. No writer makes one: it is what remains of an entry after a crash of the
 * machine. If it were read as "nothing changed", an older state would appear as the newest.
 *
 * @throws {Error} that says what is wrong with the text; the message does not name the file.
 */
export function parseActions(text: string): Action[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new Error("it is empty");
  return lines.map((line, index) =>
    parseAction(line, index === lines.length - 1 ? "the last line" : `line ${index + 1}`),
  );
}

/** The members that the code needs in each kind of action. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  add: ["path", "partitionValues"],
  remove: ["path"],
  metaData: ["schemaString", "format"],
  protocol: ["minReaderVersion", "minWriterVersion"],
  txn: ["appId"],
};

function parseAction(line: string, where: string): Action {
  let action: unknown;
  try {
    action = JSON.parse(line);
  } catch (cause) {
    throw new Error(`${where} is not JSON (cut short, or overwritten)`, { cause });
  }
  if (!isObject(action)) throw new Error(`${where} is not a JSON object`);
  const [kind] = Object.keys(action);
  if (kind === undefined) throw new Error(`${where} has no action`);
  const value = action[kind];
  if (!isObject(value)) throw new Error(`${where} has ${kind} without content`);
  const missing = MEMBERS[kind]?.find((member) => value[member] === undefined || value[member] === null);
  if (missing !== undefined) throw new Error(`${where} has ${kind} without ${missing}`);
  return action as unknown as Action;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
