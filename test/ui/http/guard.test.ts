import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { startWorkspace, type Workspace } from "../../../src/ui/start-workspace.js";
import { smallLake } from "../../cli/small-lake.js";
import { admitted, visit } from "../workspace-visit.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-guard-"));
let workspace: Workspace;
let cookie: string;

beforeAll(async () => {
  workspace = await startWorkspace(new Lake(await smallLake(join(folder, "lake"))));
  cookie = await admitted(workspace.port, workspace.address());
});
afterAll(async () => {
  await workspace.close();
  rmSync(folder, { recursive: true });
});

const pathOf = (address: string): string => new URL(address).pathname + new URL(address).search;

test("an address admits a browser, which gets a cookie that scripts and other sites cannot use", async () => {
  const address = pathOf(workspace.address("/instrument/600519.SH?period=1w"));
  const { status, headers } = await visit(workspace.port, address);
  expect(status).toBe(303);
  // The token is gone, the state of the view is not.
  expect(headers.location).toBe("/instrument/600519.SH?period=1w");
  expect(headers["set-cookie"]?.[0]).toMatch(
    new RegExp(`^barlake_ui_${workspace.port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
  );
});

test("an address that was used admits nobody else, and the browser that used it is still admitted", async () => {
  const address = pathOf(workspace.address());
  const own = (await visit(workspace.port, address)).headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
  const stolen = await visit(workspace.port, address);
  expect(stolen.status).toBe(401);
  expect(stolen.headers["set-cookie"]).toBeUndefined();
  expect(JSON.parse(stolen.body)).toMatchObject({ message: "this address was used already" });
  expect((await visit(workspace.port, address, { cookie: own })).status).toBe(303);
});

describe("refused", () => {
  const cases: Readonly<Record<string, readonly [number, string, Record<string, string>]>> = {
    "without a cookie": [401, "/", {}],
    "data without a cookie": [401, "/api/state", {}],
    "files of the page without a cookie": [401, "/assets/app.js", {}],
    "with a forged cookie": [401, "/api/state", { cookie: "barlake_ui_PORT=forged" }],
    "with the cookie of another port": [401, "/api/state", { cookie: "barlake_ui_1=SECRET" }],
    "with a forged token": [401, "/?token=forged", {}],
    "by another name of this machine (DNS rebinding)": [
      403,
      "/api/state",
      { host: "evil.example:PORT", cookie: "COOKIE" },
    ],
    "by the name without the port": [403, "/api/state", { host: "localhost", cookie: "COOKIE" }],
    "from a page of another site": [403, "/api/state", { origin: "https://evil.example", cookie: "COOKIE" }],
    "from a page without an origin": [403, "/api/state", { origin: "null", cookie: "COOKIE" }],
    "from a page of another port of this machine": [
      403,
      "/api/state",
      { origin: "http://127.0.0.1:1", cookie: "COOKIE" },
    ],
    "as a picture or script of another site": [
      403,
      "/api/state",
      { "sec-fetch-site": "cross-site", cookie: "COOKIE" },
    ],
    "as a picture or script of another port": [
      403,
      "/api/state",
      { "sec-fetch-site": "same-site", cookie: "COOKIE" },
    ],
  };
  test.each(Object.entries(cases))("%s", async (_, [status, path, headers]) => {
    const [name = "", secret = ""] = cookie.split("=");
    const filled = Object.entries(headers).map(([header, value]) => [
      header,
      value
        .replace("PORT", String(workspace.port))
        .replace("COOKIE", `${name}=${secret}`)
        .replace("SECRET", secret),
    ]);
    const reply = await visit(workspace.port, path, Object.fromEntries(filled));
    expect(reply.status).toBe(status);
    expect(reply.headers["set-cookie"]).toBeUndefined();
  });

  test.each(["POST", "PUT", "DELETE", "PATCH"])("%s, by any browser", async (method) => {
    expect((await visit(workspace.port, "/api/state", { cookie }, method)).status).toBe(405);
  });

  test("paths that lead elsewhere", async () => {
    for (const path of ["//evil.example/", "/\\evil.example/", "/./\\evil.example", "/..//evil.example/"]) {
      const { status, headers } = await visit(workspace.port, `${path}?token=x`, { cookie });
      expect(new URL(headers.location ?? "/", workspace.url).origin, path).toBe(workspace.url);
      expect([303, 404]).toContain(status);
    }
    for (const path of ["/assets/..%2f..%2fpackage.json", "/assets/../../package.json", "/etc/passwd"])
      expect((await visit(workspace.port, path, { cookie })).status, path).toBe(404);
  });
});

test("every reply has the policy: own scripts alone, none within the page, no frame", async () => {
  for (const path of ["/", "/api/state", "/nowhere", "/assets/app.css"])
    for (const sent of [cookie, ""]) {
      const { headers } = await visit(workspace.port, path, { cookie: sent });
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'; script-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("connect-src 'self'");
      expect(headers["cache-control"]).toBe("no-store");
    }
  const { body } = await visit(workspace.port, "/", { cookie });
  expect(body).not.toMatch(/<script(?![^>]*\bsrc="\/assets\/)|\bon\w+=|https?:\/\//);
});

test("it listens on this machine alone", async () => {
  const others = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one?.family === "IPv4" && !one.internal);
  for (const { address } of others as { address: string }[]) {
    const isRefused = await new Promise<boolean>((resolve) => {
      const socket = connect(workspace.port, address);
      socket.on("error", () => resolve(true));
      socket.on("connect", () => {
        socket.destroy();
        resolve(false);
      });
    });
    expect(isRefused, address).toBe(true);
  }
  expect(workspace.url).toBe(`http://127.0.0.1:${workspace.port}`);
});
