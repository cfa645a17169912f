import { expect, test } from "vitest";
import { explained } from "../../src/db/file-fault.js";

const UUID = "8503a041-4f99-411e-ac64-4aabe316bbf1";

test.each([
  [`"/lake/.staging/${UUID}.parquet": Read-only file system`, "the lake", "mounted read-only"],
  [`"/home/.denied.csv.${UUID}": Permission denied`, "file /home/denied.csv", "not writable for this user"],
])("a file that cannot be opened to be written says what to do: %s", (about, subject, hint) => {
  const { message, ...rest } = explained(new Error(`IO Error: Cannot open file ${about}`));
  expect(message).toContain(`${subject} could not be written: `);
  expect(rest.hint).toContain(hint);
});

test("a file that cannot be read is not one that could not be written", () => {
  const about = '"/home/mine.csv": Permission denied';
  const message = `IO Error: Cannot open file ${about}`;
  expect(explained(new Error(message))).toEqual({ message });
});
