import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { steadyPort } from "../../../src/cli/commands/ui.js";
import { Lake } from "../../../src/lake/lake.js";
import { startWorkspace } from "../../../src/ui/start-workspace.js";
import { smallLake } from "../../cli/small-lake.js";
import { admitted, visit } from "../workspace-visit.js";

/** Listens at the first port of a series that is free. */
async function listenAt(portOf: (n: number) => number, server: Server): Promise<number> {
  for (let n = 0; ; n++) {
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(portOf(n), "127.0.0.1", () => resolve(true));
    });
    server.removeAllListeners("error");
    if (isFree) return portOf(n);
  }
}

test("a lake has the same port each time, which others seldom have", () => {
  const ports = Array.from({ length: 50 }, (_, n) => steadyPort(`/data/lake-${n}`));
  expect(ports).toEqual(Array.from({ length: 50 }, (_, n) => steadyPort(`/data/lake-${n}`)));
  expect(new Set(ports).size).toBeGreaterThan(45);
  expect(ports.every((port) => port >= 20_000 && port < 30_000)).toBe(true);
});

test("a workspace takes the preferred port, and a free one where a program listens there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-port-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lake = new Lake(await smallLake(join(folder, "lake")));
  const server = createServer();
  // Not a port that the system gives to others: a client of another test may get it once the server is closed.
  const preferredPort = await listenAt((n) => steadyPort(join(folder, String(n))), server);
  {
    await using other = await startWorkspace(lake, { preferredPort });
    expect(other.port).not.toBe(preferredPort);
    const cookie = await admitted(other.port, other.address());
    expect((await visit(other.port, "/lake", { cookie })).status).toBe(200);
    await expect(startWorkspace(lake, { port: preferredPort, preferredPort: 0 })).rejects.toThrow(
      `workspace: cannot listen on 127.0.0.1, port ${preferredPort}`,
    );
  }
  await new Promise((resolve) => server.close(resolve));
  await using workspace = await startWorkspace(lake, { preferredPort });
  expect(workspace.port).toBe(preferredPort);
});
