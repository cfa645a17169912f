import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { apiLake } from "../../api/api-lake.js";
import { html, json, startScripted, truncated } from "../../faults/service/scripted-service.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { KEY, serve } from "../../serve/served-lake.js";
import { runCli } from "../run-cli.js";

/**
 * A service over a market that answers without a key, but for minutes, refuses a request in between, breaks one off, and has
 * a proxy before it that fails once.
 */
async function freeService(folder: string): Promise<{ readonly url: string; readonly sent: () => number }> {
  const { service } = await serve(await apiLake(folder));
  onTestFinished(() => service.close());
  const free = await startScripted((seen, response, index) => {
    if (index === 2) return json(response, 429, { code: "RATE_LIMITED", message: "retry after 20ms" });
    if (index === 4) return html(response, 502);
    if (seen.query.get("period") === "1m")
      return json(response, 403, { code: "FREE_TIER_RESTRICTED", message: "minutes need a key" });
    const forward = async (): Promise<void> => {
      const answer = await fetch(`${service.url}${seen.path}?${seen.query.toString()}`, {
        method: seen.method,
        headers: { "x-api-key": KEY, "content-type": "application/json" },
        ...(seen.method === "POST" ? { body: seen.body } : {}),
      });
      const body = await answer.text();
      if (index === 6) return truncated(response, body, body.length / 2);
      response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
    };
    void forward();
  });
  return { url: free.url, sent: () => free.seen.length };
}

test("the live demo fills a lake from a service without a key, within its bounds, and goes on where it ended", async () => {
  const place = temporaryFolder();
  const { url, sent } = await freeService(join(place, "market"));
  const run = (...more: string[]) =>
    runCli(["demo", "--live", "--lake", "live", "--symbols", "3", ...more], {
      cwd: place,
      env: { BARLAKE_URL: url, BARLAKE_API_KEY: "" },
    });
  const short = await run("--requests", "3");
  expect(short.code).toBe(1);
  expect(short.stdout).toContain("it ends here, by --requests 3");
  expect(sent()).toBeLessThan(12);
  const shown = await run();
  expect(shown.stdout).toMatch(/bars and statements of 3 members of the universe \w+/);
  expect(shown.stdout).toMatch(/minute .*\n.*minutes need a key/);
  expect(shown.stdout).toMatch(/^bars_1d +[1-9]/m);
  const { status, rows } = {
    status: shown.code,
    rows: (await new Lake(join(place, "live")).snapshots()).length,
  };
  expect([status, rows > 0]).toEqual([3, true]);
  const before = sent();
  const again = await run();
  expect(again.stdout).toMatch(/daily +0 requests/);
  expect(sent() - before).toBeLessThan(20);
  const other = await run("--universe", "NONE");
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("universe NONE: is not known")]);
});
