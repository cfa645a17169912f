import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { portIfFree, steadyPort } from "../../../src/ui/http/steady-port.js";

test("a lake has the same port each time, which others seldom have", () => {
  const ports = Array.from({ length: 50 }, (_, n) => steadyPort(`/data/lake-${n}`));
  expect(ports).toEqual(Array.from({ length: 50 }, (_, n) => steadyPort(`/data/lake-${n}`)));
  expect(new Set(ports).size).toBeGreaterThan(45);
  expect(ports.every((port) => port >= 20_000 && port < 30_000)).toBe(true);
});

test("a port where something listens is left to it", async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
  });
  expect(await portIfFree(port)).toBe(0);
  expect(await portIfFree(0)).toBe(0);
});
