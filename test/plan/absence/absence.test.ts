import { expect, test } from "vitest";
import {
  type AbsenceFacts,
  ASKED_AGAIN_SOON,
  explainAbsence,
  INCOMPLETE,
} from "../../../src/plan/absence/absence.js";

const WINDOW = { start: 1000, end: 2000 };

function reason(facts: Partial<AbsenceFacts>): string {
  return explainAbsence({
    hasEnded: false,
    wasAbsent: false,
    lacksMinutes: false,
    firstBar: undefined,
    firstOfRegion: 0,
    listedAt: undefined,
    ...WINDOW,
    days: 100,
    symbols: 1,
    hasIndex: false,
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
  expect(reason({ days: 3, hasIndex: true })).toBe("no_session");
});
