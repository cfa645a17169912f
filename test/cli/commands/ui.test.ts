import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runProcess } from "../run-cli.js";
import { smallLake } from "../small-lake.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-ui-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a second workspace takes another port, and each ends with a signal", async () => {
  const lake = await smallLake(join(folder, "lake"));
  const addresses: string[] = [];
  const start = (onAddress: (child: { kill(): void }) => void) =>
    runProcess(["ui", "--no-open", "--lake", lake], {
      onOutput(stdout, child) {
        const address = /open (http:\S+)\?token=\S+\n/.exec(stdout)?.[1];
        if (address === undefined || addresses.includes(address)) return;
        addresses.push(address);
        onAddress(child);
      },
    });
  let second: ReturnType<typeof start> | undefined;
  const first = await start((one) => {
    second = start((other) => other.kill()).finally(() => one.kill());
  });
  const ended = [first, await second];
  expect(ended).toEqual([
    expect.objectContaining({ code: 0, stderr: "" }),
    expect.objectContaining({ code: 0, stderr: "" }),
  ]);
  expect(new Set(addresses).size).toBe(2);
});
