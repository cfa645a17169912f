import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../../src/cli/config-file.js";
import { reloadKey } from "../../../src/cli/load-settings.js";
import { CONFIG_FIELDS, type ConfigField, resolveSettings, type Setting } from "../../../src/cli/settings.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli } from "../run-cli.js";
import { smallLake } from "../small-lake.js";

const FIELDS = Object.entries(CONFIG_FIELDS) as [ConfigField, Setting][];

test("the first of environment, .env, config and default that has a value gives it", () => {
  const given = fc.dictionary(
    fc.constantFrom(...FIELDS.map(([field]) => field)),
    fc.stringMatching(/^[a-z]{1,4}$/),
  );
  fc.assert(
    fc.property(given, given, given, (environment, dotenv, config) => {
      const variables = (values: Record<string, string>): Record<string, string> =>
        Object.fromEntries(
          Object.entries(values).map(([field, value]) => [
            CONFIG_FIELDS[field as ConfigField].variable,
            value,
          ]),
        );
      const entries = new Map(Object.entries(config) as [ConfigField, string][]);
      const { settings, added } = resolveSettings(variables(environment), variables(dotenv), entries);
      for (const [field, { variable, fallback }] of FIELDS) {
        const [source, value] = [
          ["environment", environment[field]],
          [".env", dotenv[field]],
          ["barlake.config.json", config[field]],
          ["default", fallback],
        ].find(([, one]) => one !== undefined) ?? [undefined, undefined];
        expect(settings.find((one) => one.field === field)).toMatchObject({ source, value });
        const isAdded = source === ".env" || source === "barlake.config.json";
        expect(added.get(variable)).toBe(isAdded ? value : undefined);
      }
    }),
  );
});

test("an empty variable of the environment is set", () => {
  const { added } = resolveSettings(
    { BARLAKE_LAKE: "" },
    { BARLAKE_LAKE: "other" },
    new Map([["lake", "third"]]),
  );
  expect(added.size).toBe(0);
});

test(".env gives names of barlake and of stores alone: others could change Node, or where the user's files are", () => {
  const dotenv = {
    AWS_REGION: "r",
    AWS_CONFIG_FILE: "/x",
    AWS_SHARED_CREDENTIALS_FILE: "/x",
    BARLAKE_WEBHOOK: "w",
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    XDG_CONFIG_HOME: "/x",
    PATH: "/x",
  };
  expect([...resolveSettings({}, dotenv, new Map()).added.keys()]).toEqual(["AWS_REGION", "BARLAKE_WEBHOOK"]);
});

test("each place goes before the next, seen from the command line", async () => {
  const cwd = temporaryFolder();
  // No lake is there: the error names the one that was looked for.
  const asked = async (parameters: string[] = [], env = {}): Promise<string | undefined> => {
    const { stderr } = await runCli(["status", ...parameters], { cwd, env });
    return /^error: lake (\S+): there is no such folder/.exec(stderr)?.[1];
  };
  expect(await asked()).toBe("data");
  writeFileSync(join(cwd, "barlake.config.json"), '{ "lake": "config" }');
  expect(await asked()).toBe("config");
  writeFileSync(join(cwd, ".env"), "BARLAKE_LAKE=dotenv # the lake\n");
  expect(await asked()).toBe("dotenv");
  expect(await asked([], { BARLAKE_LAKE: "environment" })).toBe("environment");
  expect(await asked(["--lake", "option"], { BARLAKE_LAKE: "environment" })).toBe("option");
});

test("a key of .env can be read again; one of the environment goes before it", () => {
  const [folder, cwd] = [temporaryFolder(), process.cwd()];
  const before = process.env.BARLAKE_API_KEY;
  onTestFinished(() => {
    process.chdir(cwd);
    if (before === undefined) delete process.env.BARLAKE_API_KEY;
    else process.env.BARLAKE_API_KEY = before;
  });
  process.chdir(folder);
  const settingsOf = (environment: Record<string, string>, dotenv: Record<string, string>) =>
    resolveSettings(environment, dotenv, new Map()).settings;
  const key = { BARLAKE_API_KEY: "old" };
  process.env.BARLAKE_API_KEY = "old";
  writeFileSync(".env", "BARLAKE_API_KEY=new\nBARLAKE_LAKE=other\n");
  reloadKey(settingsOf(key, {}));
  expect(process.env.BARLAKE_API_KEY).toBe("old");
  for (const settings of [settingsOf({}, key), settingsOf({}, {})]) {
    process.env.BARLAKE_API_KEY = "old";
    reloadKey(settings);
    expect(process.env.BARLAKE_API_KEY).toBe("new");
  }
  rmSync(".env");
  reloadKey(settingsOf({}, key));
  expect(process.env.BARLAKE_API_KEY).toBe("new");
});

test("config shows where each value comes from, and no secret", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "barlake.config.json"), '{ "port": 9000 }');
  writeFileSync(join(cwd, ".env"), "BARLAKE_API_KEY=s3cr3t-key\n");
  const { code, stdout } = await runCli(["config"], { cwd, env: { BARLAKE_URL: "http://127.0.0.1:1" } });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^port +9000 +barlake\.config\.json +BARLAKE_PORT/m);
  expect(stdout).toMatch(/^url +http:\/\/127\.0\.0\.1:1 +environment/m);
  expect(stdout).toMatch(/^lake +data +default/m);
  expect(stdout).toMatch(/\(set, not shown\) +\.env +BARLAKE_API_KEY/);
  expect(stdout).not.toContain("s3cr3t");
  expect((await runCli(["config", "--json"], { cwd })).stdout).not.toContain("s3cr3t");
});

test.each<[string, string, RegExp]>([
  [
    "a key",
    '{ "apiKey": "s3cr3t" }',
    /barlake\.config\.json: apiKey: a secret does not belong[\s\S]*BARLAKE_API_KEY[\s\S]*\.env/,
  ],
  ["a webhook", '{ "webhook": "https://hooks.example/s3cr3t" }', /webhook: a secret does not belong/],
  [
    "an address with a password",
    '{ "url": "https://me:s3cr3t@service.example" }',
    /url: must be an http or https address without password/,
  ],
  [
    "a key in an address",
    '{ "trino": "https://t.example/?key=s3cr3t" }',
    /trino: must be an http or https address/,
  ],
  [
    "an unknown setting",
    '{ "lak": "x" }',
    /lak: is not a setting\nhint: +did you mean lake\? the settings are lake, url/,
  ],
  ["one like no other", '{ "frobnicate": 1 }', /frobnicate: is not a setting\nhint: +the settings are/],
  ["a value of another type", '{ "port": "8080" }', /port: must be a number, is "8080"/],
  ["a share above 1", '{ "share": 2 }', /share: must be above 0 and at most 1, is 2/],
  ["no JSON", "{ lake: 1 }", /barlake\.config\.json is not JSON: /],
  ["a list", "[]", /barlake\.config\.json: definition: must be an object/],
])("%s in a config is refused, with what to do", async (_, text, message) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "barlake.config.json"), text);
  const { code, stderr } = await runCli(["status"], { cwd });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/hint:/);
  expect(stderr).not.toContain("s3cr3t");
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(code).toBe(2);
  // What shows help works all the same.
  expect((await runCli(["status", "--help"], { cwd })).code).toBe(0);
});

test("a config that is a program is named, and not run", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "barlake.config.ts"), 'process.stdout.write("was run"); export default {};\n');
  const { code, stdout, stderr } = await runCli(["status"], { cwd });
  expect(stderr).toMatch(
    /barlake\.config\.ts: settings are not read from a program\nhint:.*barlake\.config\.json/,
  );
  expect([code, stdout]).toEqual([2, ""]);
});

test("a folder with the name of .env, as Python makes it, is no fault", async () => {
  const cwd = temporaryFolder();
  await smallLake(join(cwd, ".env"));
  expect((await runCli(["config"], { cwd })).code).toBe(0);
});

test("pipelines and notebooks are found in the folders of the config; a folder that is not there is named", async () => {
  const cwd = temporaryFolder();
  await smallLake(join(cwd, "jobs"));
  writeFileSync(
    join(cwd, "barlake.config.json"),
    '{ "lake": "jobs", "pipelines": "jobs", "notebooks": "jobs" }',
  );
  writeFileSync(
    join(cwd, "jobs/nightly.ts"),
    'export default { name: "nightly", kind: "bars", period: "1d", from: "2026-01-01" };\n',
  );
  writeFileSync(join(cwd, "jobs/mine.sql"), "-- # Mine\n-- %%\nSELECT 42 AS found;\n");
  expect((await runCli(["pipelines"], { cwd })).stdout).toMatch(/^nightly +bars 1d/m);
  expect((await runCli(["plan", "nightly"], { cwd })).stdout).toMatch(/nightly.*request/);
  expect((await runCli(["sql", "-f", "mine"], { cwd })).stdout).toMatch(/found\n +42/);
  const absent = await runCli(["pipelines"], { cwd, env: { BARLAKE_PIPELINES: "absent" } });
  expect(absent).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/folder absent: its pipelines cannot/),
  });
});

test("a share of the environment is checked", async () => {
  const cwd = temporaryFolder();
  await smallLake(join(cwd, "data"));
  const env = { BARLAKE_URL: "http://127.0.0.1:1", BARLAKE_API_KEY: "k", BARLAKE_SHARE: "7" };
  const { code, stderr } = await runCli(["run", "daily"], { cwd, env });
  expect(stderr).toMatch(/BARLAKE_SHARE 7: must be a number above 0, up to 1/);
  expect(code).toBe(2);
});

test("docs/settings.md has every setting, with its default and variable", () => {
  const docs = readFileSync(fileURLToPath(new URL("../../../docs/settings.md", import.meta.url)), "utf8");
  const cell = (text: string | undefined): string => (text === undefined ? "" : `\`${text}\``);
  for (const [field, { does, fallback, variable, option }] of FIELDS)
    expect(docs.replaceAll(/ +/g, " ")).toContain(
      `| ${[cell(field), does, cell(fallback), cell(variable), cell(option)].join(" | ")} |`.replaceAll(
        / +/g,
        " ",
      ),
    );
  expect(FIELDS.length).toBe([...docs.matchAll(/^\| `[a-z]+` \|/gm)].length);
});

test("what a config gives is what the environment would", () => {
  expect(readConfig('{ "$schema": "x", "port": 0, "share": 0.25, "url": "https://a.example/v" }')).toEqual(
    new Map([
      ["url", "https://a.example/v"],
      ["share", "0.25"],
      ["port", "0"],
    ]),
  );
});
