import { expect, onTestFinished, test, vi } from "vitest";
import { ADJUSTMENTS } from "../../../../src/market/period.js";

test("prices of which no ex-event is known are never called adjusted", async () => {
  vi.stubGlobal("navigator", { language: "en-GB" });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });
  const { adjustmentText } = await import("../../../../src/ui/browser/instrument/adjustment-text.js");
  for (const adjust of ADJUSTMENTS) {
    const [unknown, none, some, all] = [undefined, [], ["A.US"], ["A.US", "B.US"]].map((adjusted) =>
      adjustmentText(adjust, ["A.US", "B.US"], adjusted),
    );
    if (adjust === "none") {
      expect(new Set([unknown, none, some, all])).toEqual(new Set(["not adjusted: as traded"]));
      continue;
    }
    expect(unknown).toBeUndefined();
    expect(none).toBe("no ex-event is known: prices are as traded");
    expect(all).toMatch(/^adjusted (forward|backward)[^·]*$/);
    expect(some).toBe(`${all} · no ex-event is known of B.US`);
  }
});
