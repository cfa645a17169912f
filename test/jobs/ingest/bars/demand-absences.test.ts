import { expect, test } from "vitest";
import { DemandAbsences } from "../../../../src/jobs/ingest/bars/explain-absences.js";
import type { ResponseVerdict } from "../../../../src/plan/absence/judge-response.js";

const JUNE = { start: 1000, end: 2000 };
const JULY = { start: 2000, end: 3000 };
const MANY = Array.from({ length: 12 }, (_, n) => `${600_000 + n}.SH`);
const [ONE = ""] = MANY;

/** The verdict on a response that had bars of another symbol, and lacked symbols that traded up to its window. */
function lacking(silent: readonly string[]): Pick<ResponseVerdict, "absence" | "present"> {
  return { present: ["601398.SH"], absence: { confirmed: [], unconfirmed: silent, silent } };
}

test("a symbol that a response lacks is one of few in that window alone", () => {
  const absences = new DemandAbsences("1m", () => false);
  absences.take({ region: "CN", symbols: MANY, window: JUNE }, lacking([ONE]));
  absences.take({ region: "CN", symbols: MANY, window: JULY }, lacking(MANY));
  expect(absences.isOneOfFew(ONE, "CN", JUNE)).toBe(true);
  expect(absences.isOneOfFew(ONE, "CN", JULY)).toBe(false);
  expect(absences.isOneOfFew(ONE, "HK", JUNE)).toBe(false);
});

test("the second request for many symbols does not make those that it lacks few", () => {
  const absences = new DemandAbsences("1d", () => false);
  absences.take({ region: "CN", symbols: MANY, window: JUNE }, lacking(MANY));
  absences.take({ region: "CN", symbols: MANY, window: JUNE, again: "all" }, lacking([ONE]));
  expect(absences.isOneOfFew(ONE, "CN", JUNE)).toBe(false);
});
