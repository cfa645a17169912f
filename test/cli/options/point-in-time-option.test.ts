import { Command } from "commander";
import { expect, test } from "vitest";
import {
  knownAtOptions,
  type PointInTimeOptions,
  pointInTimeOf,
  pointInTimeOptions,
} from "../../../src/cli/options/options.js";
import { UsageError } from "../../../src/core/errors.js";
import type { PointInTime } from "../../../src/lake/lake.js";

function parsed(...args: readonly string[]): PointInTime {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  for (const option of [...pointInTimeOptions(), ...knownAtOptions()]) command.addOption(option);
  return pointInTimeOf(command.parse(args, { from: "user" }).opts<PointInTimeOptions>());
}

test.each([
  ["2026-11-20", "2026-11-20T00:00:00Z"],
  ["20261120", "2026-11-20T00:00:00Z"],
  ["2026-11-20T08:30", "2026-11-20T08:30:00Z"],
  ["2026-11-20T08:30:15.250Z", "2026-11-20T08:30:15.250Z"],
  ["2026-11-20T08:30:00+08:00", "2026-11-20T00:30:00Z"],
  ["2026-11-20T08:30-05", "2026-11-20T13:30:00Z"],
])("--as-of %s is %s, in any zone of the machine", (text, instant) => {
  expect(parsed("--as-of", text)).toEqual({ asOf: Date.parse(instant) });
});

test.each([
  ["2026-06-30", "2026-06-30"],
  ["20260630", "2026-06-30"],
  ["2026-06-30T16:00+08:00", Date.parse("2026-06-30T08:00:00Z")],
])("--known-at %s is a date, or an instant", (text, knownAt) => {
  expect(parsed("--known-at", text)).toEqual({ knownAt });
  expect(parsed("--known-at", text, "--assume-reference")).toEqual({ knownAt, assumesReference: true });
});

test("--assume-reference alone is refused with what it needs", () => {
  expect(() => parsed("--assume-reference")).toThrow(UsageError);
});

test("versions of several tables", () => {
  expect(parsed("--version", "bars_1d=3", "--version", "bars_1m=0", "--version", "bars_1d=4")).toEqual({
    versions: new Map([
      ["bars_1d", 4],
      ["bars_1m", 0],
    ]),
  });
  expect(parsed()).toEqual({});
});

test.each([
  ["--known-at", "2026-02-30"],
  ["--known-at", "then"],
  ["--as-of", "tomorrow"],
  ["--as-of", "2026-02-30"],
  ["--as-of", ""],
  ["--version", "bars_1d=-1"],
  ["--version", "bars_1d=1.5"],
  ["--version", "nope=1"],
  ["--version", "7"],
])("%s %s is refused", (...args) => {
  expect(() => parsed(...args)).toThrow(/It is no time|Write it like/);
});
