import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { REGIONS, type Region } from "../../src/market/regions.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open();
  await session.run(
    readFileSync(new URL("../../sql/views/rules/local_midnight.sql", import.meta.url), "utf8"),
  );
});
afterAll(() => session.close());

test.each(Object.keys(REGIONS) as Region[])(
  "%s: as the zone's own table has it, on each day of a century",
  async (region) => {
    const [odd] = await session.rows<{ days: bigint; odd: bigint }>(
      `SELECT count(*) AS days, count(*) FILTER (
         local_midnight(day, '${region}') IS DISTINCT FROM
         epoch_ms(timezone('${REGIONS[region].zone}', day + INTERVAL 12 HOUR)) - 43200000) AS odd
       FROM (SELECT CAST(unnest(generate_series(DATE '1970-01-01', DATE '2069-12-31', INTERVAL 1 DAY)) AS DATE) AS day)`,
    );
    expect(odd).toEqual({ days: 36_525n, odd: 0n });
  },
);
