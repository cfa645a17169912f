import { expect, test } from "vitest";
import {
  type AbsenceFacts,
  ASKED_AGAIN_SOON,
  explainAbsence,
  INCOMPLETE,
} from "../../../src/plan/absence/absence.js";

const WINDOW = { start: 1000, end: 2000 };
const FEW = { symbols: 9, hasIndex: false };
const MANY = { symbols: 10, hasIndex: false };
const INDEX = { symbols: 1, hasIndex: true };

function reason(facts: Partial<AbsenceFacts>): string {
  return explainAbsence({
    hasEnded: false,
    wasAbsent: false,
    lacksMinutes: false,
    isBeforeMinutes: false,
    wasEmpty: false,
    firstBar: undefined,
    firstOfRegion: 0,
    listedAt: undefined,
    ...WINDOW,
    days: 100,
    hasSession: false,
    othersCame: false,
    daysOfNone: 0,
    absent: FEW,
    silent: FEW,
    ...facts,
  });
}

test("an empty window before a symbol's first bar is believed where it was not listed, or the region has no older bar", () => {
  expect(reason({ firstBar: 2000 })).toBe("not_yet");
  expect(reason({ firstBar: 2500, listedAt: 2000 })).toBe("not_yet");
  expect(reason({ firstBar: 2500, listedAt: 10, firstOfRegion: 2100 })).toBe("not_yet");
  // Responses that were empty by mistake look the same: it is requested again soon.
  expect(reason({ firstBar: 2000, listedAt: 10 })).toBe("begins_late");
  expect(reason({ firstBar: 2500, listedAt: 1999 })).toBe("begins_late");
  expect(ASKED_AGAIN_SOON).toContain("begins_late");
  expect(INCOMPLETE.has("begins_late")).toBe(false);
});

test("nothing else explains an absence without a bar of the symbol", () => {
  expect(reason({})).toBe("unexplained");
  expect(reason({ listedAt: 10 })).toBe("unexplained");
  expect(reason({ firstBar: 500 })).toBe("suspended");
  expect(reason({ firstBar: 1500 })).toBe("unexplained");
  expect(reason({ hasEnded: true, firstBar: 1500 })).toBe("ended");
  expect(reason({ days: 3, absent: INDEX })).toBe("no_session");
});

test("a symbol without any bar was unexplained on three days before it is taken to have none, while others came", () => {
  const never = { days: 1, hasSession: true, othersCame: true, absent: MANY, daysOfNone: 3 };
  expect(reason(never)).toBe("no_bars");
  expect(reason({ ...never, daysOfNone: 2 })).toBe("unexplained");
  expect(reason({ ...never, othersCame: false })).toBe("unexplained");
  expect(reason({ ...never, firstBar: 500, silent: MANY })).toBe("unexplained");
  expect(ASKED_AGAIN_SOON).toContain("no_bars");
  expect(INCOMPLETE.has("no_bars")).toBe(false);
});

test("a symbol without any minute has none in time from before later minutes of others, once it was asked for in two runs", () => {
  const empty = { isBeforeMinutes: true, wasEmpty: true, absent: MANY };
  expect(reason(empty)).toBe("no_bars");
  expect(reason({ ...empty, wasEmpty: false })).toBe("unexplained");
  expect(reason({ ...empty, isBeforeMinutes: false })).toBe("unexplained");
});

test("many symbols without a bar are a holiday on a few days, of which none is known to be a session", () => {
  const silent = { firstBar: 500, absent: MANY, silent: MANY };
  expect(reason({ ...silent, days: 8 })).toBe("no_session");
  expect(reason({ ...silent, days: 8, hasSession: true })).toBe("unexplained");
  expect(reason({ ...silent, days: 9 })).toBe("unexplained");
  expect(reason({ ...silent, absent: INDEX, silent: INDEX, days: 1, hasSession: true })).toBe("unexplained");
  expect(reason({ ...silent, days: 9, isBeforeMinutes: true })).toBe("suspended");
  // Symbols that left the service's lists, or never traded, are not silent.
  expect(reason({ ...silent, silent: FEW, days: 9 })).toBe("suspended");
  expect(reason({ firstBar: 500, days: 1, hasSession: true })).toBe("suspended");
});
