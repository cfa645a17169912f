import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json, startScripted } from "../../../faults/service/scripted-service.js";
import { newestBars, weekdays } from "../../../jobs/minute-market.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";

test("withdrawn: lists what is gone with exit code 1, and accepts it with exit code 0", async () => {
  const place = temporaryFolder();
  const lake = join(place, "lake");
  const file = join(place, "600519.SH.csv");
  const rows = ["2024-01-02", "2024-01-03"].map((date) => `${date},10,10,10,10,100`);
  writeFileSync(file, ["date,open,high,low,close,volume", ...rows, ""].join("\n"));
  expect((await runCli(["import", "bars_1d", file, "--lake", lake])).code).toBe(0);
  const market = { "600519.SH": weekdays("2024-01-02", "2024-01-03") };
  const service = await startScripted((seen, response) =>
    json(response, 200, { data: newestBars(seen, market) }),
  );
  const days = ["--symbols", "600519.SH", "--from", "2024-01-02", "--to", "2024-01-04"];
  const limits = ["--min-speed", "1", "--max-response-minutes", "5"];
  const parameters = ["withdrawn", "bars_1d", ...days, ...limits, "--lake", lake];
  const env = { BARLAKE_URL: service.url, BARLAKE_API_KEY: "withdrawn-key" };
  const listed = await runCli(parameters, { env });
  expect([listed.code, listed.stdout]).toEqual([
    1,
    expect.stringMatching(
      /^bars_1d: the service has 1 of the 2 bars.*\n[^]*600519.SH +1 +2024-01-0[^]*nothing was changed; --accept/,
    ),
  ]);
  const accepted = await runCli([...parameters, "--accept"], { env });
  expect([accepted.code, accepted.stdout]).toEqual([
    0,
    expect.stringMatching(/1 bar taken out of version 1; older versions still have them/),
  ]);
  const again = await runCli(parameters, { env });
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/nothing was withdrawn/)]);
  const mixed = [...parameters, "--symbols", "600519.SH,AAPL.US"];
  expect(await runCli(mixed, { env })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/not of one region/),
  });
});
