import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { runCli } from "../cli/run-cli.js";
import { temporaryLake } from "../lake/temporary-lake.js";

const read = (file: string): string =>
  readFileSync(join(fileURLToPath(new URL("../..", import.meta.url)), file), "utf8");
const DOCKERFILE = read("Dockerfile").replaceAll("\\\n", " ");
const COMPOSE = ["docs/examples/compose.yaml", "docs/examples/team-compose.yaml"].map(read);

/** The words of an instruction in its JSON form. */
function wordsOf(instruction: RegExp): string[] {
  return JSON.parse(instruction.exec(DOCKERFILE)?.[1] ?? "[]") as string[];
}

/** Runs a health check as Docker does. @returns its exit code. */
async function check([command = "", ...parameters]: readonly string[], port: number): Promise<number | null> {
  const env = { ...process.env, BARLAKE_PORT: String(port) };
  const child = execFile(command === "node" ? process.execPath : command, parameters, { env });
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("the health check of the image asks the service, and fails where there is none", async () => {
  const health = wordsOf(/HEALTHCHECK .*?CMD (\[.*\])/);
  const service = await startService(temporaryLake(), {
    port: 0,
    keys: plainKeys(["k"]),
    clock: systemClock,
  });
  onTestFinished(() => service.close());
  expect(await check(health, Number(new URL(service.url).port))).toBe(0);
  expect(await check(health, await closedPort())).toBe(1);
});

test("the image runs as a user that is not root, and what it runs is a command", async () => {
  const last = DOCKERFILE.slice(DOCKERFILE.lastIndexOf("\nFROM "));
  expect(/^USER (\w+)$/m.exec(last)?.[1]).toBe("node");
  expect(last.indexOf("\nUSER ")).toBeLessThan(last.indexOf("\nCMD "));
  const [barlake, ...words] = wordsOf(/^CMD (\[.*\])$/m);
  expect(barlake).toBe("barlake");
  expect((await runCli([...words, "--help"])).code).toBe(0);
  // The folders of volumes belong to that user.
  for (const folder of ["/barlake", "/work"])
    expect(last).toMatch(new RegExp(`chown node:node[^&]*${folder}\\b`));
});

test("what the compose files run is a command with options that it has", async () => {
  const commands = COMPOSE.flatMap((text) => [...text.matchAll(/^ +command: barlake (.*)$/gm)]);
  expect(commands.length).toBe(4);
  for (const [, words = ""] of commands) {
    const [name = "", ...rest] = words.split(" ");
    const { stdout } = await runCli([name, "--help"]);
    for (const option of rest.filter((word) => word.startsWith("--")))
      expect(stdout).toContain(`${option} <`);
  }
});
