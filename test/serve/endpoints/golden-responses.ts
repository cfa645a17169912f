import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { KEY, type Served } from "../served-lake.js";

const CASES = new URL("cases/", import.meta.url);

/**
 * Sends the requests of `cases/NAME.http`, and compares what is said to them with `cases/NAME.txt`, byte for byte; `vitest -u`
 * writes it. A line of the requests is a comment after `#`, or a method and a path, and the body after a blank; an instant in
 * braces stands for its epoch milliseconds.
 */
export function goldenResponses(served: Served, name: string): void {
  test(`the responses of ${name}.http`, async () => {
    let said = "";
    for (const line of readFileSync(new URL(`${name}.http`, CASES), "utf8").split("\n")) {
      said += `${line}\n`;
      const [, method, path, body] = /^(GET|POST) (\S+)(?: (.+))?$/.exec(line) ?? [];
      if (method === undefined || path === undefined) continue;
      const url = path.replaceAll(/\{([^{}]+)\}/g, (_, instant: string) => String(Date.parse(instant)));
      const response = await fetch(served.service.url + url, {
        method,
        headers: { "x-api-key": KEY, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body }),
      });
      said += `${response.status} ${await response.text()}\n`;
    }
    await expect(said.trimEnd()).toMatchFileSnapshot(fileURLToPath(new URL(`${name}.txt`, CASES)));
  });
}
