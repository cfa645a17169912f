import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import { DAYS, grow, lakeUntil } from "../../dataset/growing-lake.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { newLake } from "../../serve/served-lake.js";
import { pickFrom } from "../../sweep.js";
import { runCli, runProcess } from "../run-cli.js";

describe("barlake dataset", () => {
  const { lake, remove } = newLake();
  const run = (...parameters: string[]) => runCli(["dataset", ...parameters, "--lake", lake.location]);

  beforeAll(async () => void (await lakeUntil(lake.location, DAYS[120] as TradingDate)));
  afterAll(remove);

  once("plans, builds, appends, lists and verifies a spec that comes with it", async () => {
    const plan = await run("plan", "cn-daily", "--format", "qlib");
    expect(plan).toMatchObject({ code: 0, stderr: "" });
    expect(plan.stdout).toMatch(
      /^cn-daily, qlib: \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d; nothing was written\n\d+ symbols, 121 labels, /,
    );
    expect(existsSync(join(lake.location, "datasets"))).toBe(false);

    const built = await run("build", "cn-daily", "--format", "qlib", "--json");
    expect(built.code).toBe(0);
    const { content, folder, rows } = JSON.parse(built.stdout) as {
      content: string;
      folder: string;
      rows: number;
    };
    expect(folder).toBe(join(lake.location, "datasets/cn-daily/qlib"));
    const again = await run("build", "cn-daily", "--format", "qlib");
    expect(again.code).toBe(2);
    expect(again.stderr).toContain(
      "is there already\nhint:  --append adds new days to it, --replace builds it again",
    );

    await grow(lake, DAYS[121] as TradingDate, DAYS[125] as TradingDate, { statements: false });
    const grown = await run("verify", "cn-daily");
    expect(grown.code).toBe(0);
    expect(grown.stdout).toContain(
      "lake: nothing of its days has changed, while new ones came: --append adds them",
    );
    const appended = await run("build", "cn-daily", "--format", "qlib", "--append");
    expect(appended.stdout).toMatch(/\d+ symbols, 126 labels, [\d,]+ rows \(\d+ of them new\)/);
    const whole = JSON.parse(
      (await run("build", "cn-daily", "--format", "qlib", "--replace", "--json")).stdout,
    ) as typeof built & { content: string; rows: number };
    expect(whole.rows).toBeGreaterThan(rows);
    expect(whole.content).not.toBe(content);
    expect((await run("verify", "cn-daily", "--rebuild")).stdout).toMatch(
      /^cn-daily, qlib: sound\n[\s\S]*rebuilt: the same bytes\n/,
    );

    expect((await run("list")).stdout).toMatch(/\ncn-daily +qlib +\S+ to \S+ +\d+ +[\d,]+ +[\d.]+ [kM]B /);
    writeFileSync(join(folder, "calendars/day.txt"), "");
    const other = newLake();
    await lakeUntil(other.lake.location, DAYS[12] as TradingDate, { minuteDays: 1 });
    const elsewhere = await runCli(["dataset", "verify", folder, "--lake", other.lake.location]);
    other.remove();
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stdout).toContain(
      `lake: another one: the dataset was built from ${lake.location}, and ${other.lake.location} has not the rows that it was built from\ncompare it with its own: barlake dataset verify ${folder} --lake ${lake.location}\n`,
    );
    expect(elsewhere.stdout).not.toContain("cannot be determined");
    const damaged = await run("verify");
    expect(damaged.code).toBe(1);
    expect(damaged.stdout).toContain("files: calendars/day.txt is not as it was written");
  });

  once("takes specs of one's own, as JSON or TypeScript, and says what is wrong with them", async () => {
    const place = temporaryFolder();
    const json = join(place, "mine.json");
    writeFileSync(
      json,
      JSON.stringify({
        name: "mine",
        universe: { region: "CN" },
        from: DAYS[50],
        fields: ["close"],
        output: join(place, "out"),
      }),
    );
    expect((await run("build", json, "--format", "symbol-csv")).code).toBe(0);
    expect(readdirSync(join(place, "out")).some((name) => /^\d{6}\.SH\.csv$/.test(name))).toBe(true);

    const typescript = join(place, "mine.ts");
    writeFileSync(
      typescript,
      `const days: string = "${DAYS[50]}";\nexport default { name: "ts", universe: { region: "CN" }, from: days };\n`,
    );
    const output = join(place, "ts");
    expect((await run("build", typescript, "--output", output)).code).toBe(0);
    expect(JSON.parse(readFileSync(join(output, "manifest.json"), "utf8"))).toMatchObject({
      name: "ts",
      first: DAYS[50],
    });

    const wrong: Record<string, [definition: object, message: RegExp]> = {
      "no universe": [{ name: "x", from: "2025-01-01" }, /universe: /],
      "a wrong date": [{ name: "x", universe: "A", from: "2025-02-30" }, /from: must be a calendar date/],
      "an unknown member": [{ name: "x", universe: "A", from: "2025-01-01", filed: [] }, /filed/],
      "two fields of a name": [
        { name: "x", universe: "A", from: "2025-01-01", fields: ["close", { name: "close", sql: "open" }] },
        /close is there twice/,
      ],
      "a look ahead": [
        {
          name: "x",
          universe: { region: "CN" },
          from: "2025-06-01",
          fields: [{ name: "y", sql: "lead(close) OVER (PARTITION BY symbol ORDER BY trade_date)" }],
        },
        /field y: /,
      ],
      "a wrong column": [
        { name: "x", universe: { region: "CN" }, from: "2025-06-01", fields: ["closs"] },
        /closs/,
      ],
    };
    for (const [name, [definition, message]] of Object.entries(wrong)) {
      writeFileSync(json, JSON.stringify(definition));
      const { code, stderr } = await run("plan", json);
      expect(code, `${name}: ${stderr}`).toBe(2);
      expect(stderr, name).toMatch(message);
    }
    expect((await run("plan", "nothing")).stderr).toMatch(
      /dataset "nothing" is not known\nhint: {2}use one of cn-daily, /,
    );
  });

  once("says what is left where it is stopped, and finds what a crash has left next to it", async () => {
    const place = temporaryFolder();
    const spec = join(place, "stopped.mjs");
    const output = join(place, "out");
    const definition = {
      name: "stopped",
      universe: { region: "CN" },
      from: DAYS[100],
      fields: ["close"],
      output,
    };
    writeFileSync(
      spec,
      `const alive = setInterval(() => {}, 1000);
const caught = new Promise((resolve) => process.once("SIGINT", resolve));
process.kill(process.pid, "SIGINT");
await caught;
clearInterval(alive);
export default ${JSON.stringify(definition)};\n`,
    );
    const { code, stderr } = await runProcess(["dataset", "build", spec, "--lake", lake.location]);
    expect([code, stderr]).toEqual([
      130,
      `stopped: nothing of this build is left, and ${output} is as it was before\n`,
    ]);
    expect(readdirSync(place)).toEqual(["stopped.mjs"]);

    const json = join(place, "mine.json");
    writeFileSync(json, JSON.stringify(definition));
    expect((await run("build", json)).code).toBe(0);
    const moved = `.out.old-${hostname()}-${2 ** 22 + 1}-00000000-0000-4000-8000-000000000000`;
    renameSync(output, join(place, moved));
    expect(await run("verify", output)).toMatchObject({ code: 0 });
    expect(readdirSync(place).sort()).toEqual(["mine.json", "out", "stopped.mjs"]);
  });

  const calendars = [
    ["CN", "XSHG"],
    ["HK", "XHKG"],
    ["US", "XNYS"],
  ] as const;
  test.each(pickFrom(calendars, { few: 1, more: 3, all: 3 }))(
    "says by which sessions zipline reads the days of %s: %s",
    async (region, calendar) => {
      const place = temporaryFolder();
      const spec = join(place, "days.json");
      writeFileSync(spec, JSON.stringify({ name: "days", universe: { region }, from: DAYS[100] }));
      const { stdout } = await run(
        "build",
        spec,
        "--format",
        "zipline-csvdir",
        "--output",
        join(place, "out"),
      );
      expect(stdout).toContain(`calendar_name="${calendar}")`);
    },
  );

  test.each(pickFrom(["qlib", "long-arrow", "wide-parquet", "symbol-csv"], { few: 1, more: 2, all: 4 }))(
    "a disk that takes no more leaves nothing behind: %s",
    async (format) => {
      const place = temporaryFolder();
      const out = ["--lake", lake.location, "--output", join(place, "out")];
      const command = ["dataset", "build", "cn-daily", "--format", format, ...out];
      const { code, stderr } = await runProcess(command, { fileLimitKib: 1 });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /error: [\s\S]*File too large[\s\S]*\nhint: {2}a limit on the size of a file was reached/,
      );
      expect(readdirSync(place)).toEqual([]);
      expect((await runCli(command)).code).toBe(0);
    },
  );
});
