import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pickCases } from "./sweep.js";

test("picked are as many different cases as asked for, the pinned ones among them", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 400 }),
      fc.nat(),
      (total, count, n) => {
        const pinned = count > 1 ? [n % total] : [];
        const picked = pickCases(total, count, pinned);
        expect(new Set(picked).size).toBe(Math.min(total, count));
        expect(picked.every((one) => one >= 0 && one < total)).toBe(true);
        expect(picked).toEqual(expect.arrayContaining(pinned));
      },
    ),
  );
});

test("what the long tests leave out has no cases of a sweep", () => {
  const root = fileURLToPath(new URL(".", import.meta.url));
  const left = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && name !== "sweep.test.ts")
    .flatMap((name) => readFileSync(join(root, name), "utf8").split(/^(?= *(?:test|once|describe)\b)/m))
    .filter((part) => /^ *once\b/.test(part));
  expect(left.length).toBeGreaterThan(50);
  expect(left.filter((part) => /\b(?:cases\(|pick(?:From|Cases)\(|SWEEP\b)/.test(part))).toEqual([]);
});
