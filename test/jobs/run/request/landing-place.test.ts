import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LandingPlace } from "../../../../src/jobs/run/request/request-sender.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { endlessFiles } from "../../../lake/endless-files.js";
import { land, openSession, temporaryLake } from "../../../lake/temporary-lake.js";

const NEVER = new AbortController().signal;
const AT = "2026-11-02T16:00:00Z";
const START = Date.parse(AT);
const PURPOSE = {
  dataset: "bars_1d",
  symbols: ["600519.SH"],
  window: { start: START, end: START + 86_400_000 },
};

test("a file that another process has replaced, and deleted, since the log was read is no fault", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: AT }]);
  const [old = ""] = (await lake.snapshot(BARS_1D)).files.keys();
  const place = new LandingPlace(lake, [BARS_1D], NEVER);
  await place.expectUsable({ dataset: "bars_1d", symbols: [] });
  await land(session, lake, BARS_1D, [{ at: AT, close: 9.5 }]);
  rmSync(join(lake.location, "bars_1d", old));
  await place.expectUsable(PURPOSE);
  const [file = ""] = (await lake.snapshot(BARS_1D)).files.keys();
  rmSync(join(lake.location, "bars_1d", file));
  await expect(new LandingPlace(lake, [BARS_1D], NEVER).expectUsable(PURPOSE)).rejects.toThrow(
    `${file} is missing`,
  );
});

test("an interrupt ends the comparison of a long file", async () => {
  const [lake, session, stop] = [temporaryLake(), await openSession(), new AbortController()];
  await land(session, lake, BARS_1D, [{ at: AT }]);
  const pieces = endlessFiles(lake, stop);
  const place = new LandingPlace(lake, [BARS_1D], stop.signal);
  await expect(place.expectUsable(PURPOSE)).rejects.toThrow("aborted");
  expect(pieces()).toBe(2);
});
