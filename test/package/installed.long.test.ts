import { execFile, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cases, pickFrom, SWEEP } from "../sweep.js";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** The versions of Node that the package is for: the oldest, and the newest of each later line. */
const NODES = { "20.19": "20.19.0", "22": "22", "24": "24" } as const;

/** The long tests have one of them, another for each commit; a soak has all. */
const CHOSEN = pickFrom(Object.entries(NODES), cases({ few: 1, more: 1, all: 3 }));

/** The package of the registry that has Node for this machine. */
const NODE = `node-${process.platform}-${process.arch}`;

const isReachable =
  spawnSync("npm", ["view", `${NODE}@20.19.0`, "version", "--fetch-retries=0"]).status === 0;
if (!isReachable)
  console.warn("skipped: the package is not installed, because no registry of npm can be reached");

describe.skipIf(!isReachable)("the package, packed from its sources and installed in an empty folder", () => {
  const place = mkdtempSync(join(tmpdir(), "barlake-installed-"));
  afterAll(() => rmSync(place, { recursive: true, force: true }));
  const [sources, project] = [join(place, "sources"), join(place, "project")];

  beforeAll(async () => {
    // A copy without what was built: that is what a release is made of.
    mkdirSync(sources);
    const list = await run("git", ["ls-files", "-z", "-co", "--exclude-standard"], { cwd: PROJECT });
    const files = list.stdout.split("\0").filter((file) => file !== "" && existsSync(join(PROJECT, file)));
    writeFileSync(join(place, "files"), files.join("\0"));
    await run("bash", ["-c", `tar --null -T "${place}/files" -cf - | tar -xf - -C "${sources}"`], {
      cwd: PROJECT,
    });
    symlinkSync(join(PROJECT, "node_modules"), join(sources, "node_modules"));
    // CI builds clean sources before its tests; a soak builds them here, too.
    if (SWEEP !== "all") {
      const text = readFileSync(join(sources, "package.json"), "utf8");
      const manifest = JSON.parse(text) as { scripts: Record<string, string> };
      manifest.scripts.build = `cp -R "${join(PROJECT, "dist")}" dist`;
      writeFileSync(join(sources, "package.json"), JSON.stringify(manifest));
    }
    // A leftover of another build, and of a file that has been deleted since.
    mkdirSync(join(sources, "dist"));
    writeFileSync(join(sources, "dist/leftover.js"), "");
    await run("npm", ["pack", "--pack-destination", place], { cwd: sources });
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "private": true }');
    const archive = join(place, readdirSync(place).find((name) => name.endsWith(".tgz")) as string);
    const nodes = CHOSEN.map(([name, version]) => `node-${name}@npm:${NODE}@${version}`);
    await run(
      "npm",
      ["install", "--engine-strict", "--prefer-offline", "--no-audit", "--no-fund", archive, ...nodes],
      {
        cwd: project,
      },
    );
  });

  test("has no leftover of an earlier build", () => {
    const built = readdirSync(join(project, "node_modules/barlake/dist"));
    expect(built).toContain("index.js");
    expect(built).not.toContain("leftover.js");
    expect(built.some((name) => name.endsWith(".duckdb"))).toBe(true);
  });

  describe.each(CHOSEN)("under Node %s", (name) => {
    const node = join(project, `node_modules/node-${name}/bin/node`);
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([variable]) => !/^(BARLAKE_|AWS_|NODE_OPTIONS$)/.test(variable)),
    );
    /** Runs the installed command in a folder of this version. */
    const barlake = async (...parameters: string[]): Promise<string> => {
      const cwd = join(project, `with-${name}`);
      mkdirSync(cwd, { recursive: true });
      const { stdout } = await run(node, [join(project, "node_modules/.bin/barlake"), ...parameters], {
        cwd,
        env,
      });
      return stdout;
    };

    test("a new project begins, and everything in it runs", async () => {
      expect((await run(node, ["--version"])).stdout).toMatch(new RegExp(`^v${name}\\.`));
      expect(await barlake("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect(await barlake("init")).toMatch(/made barlake\.config\.json/);
      writeFileSync(join(project, `with-${name}`, ".env"), "BARLAKE_API_KEY='k' # mine\n");
      expect(await barlake("config")).toMatch(/\(set, not shown\) +\.env +BARLAKE_API_KEY/);
      expect(await barlake("sim", "--symbols", "20", "--days", "300", "--minute-days", "0")).toMatch(
        /^filled data/,
      );
      expect(await barlake("plan", "my-daily")).toMatch(/my-daily: \d+ request/);
      expect(await barlake("sql", "-f", "my-market", "--html", "page.html")).toMatch(/^wrote page\.html/);
      expect(await barlake("dataset", "build", "./datasets/my-dataset.json")).toMatch(
        /^my-dataset, long-parquet/,
      );
      expect(await barlake("check")).toBeTruthy();
    });

    test("a program imports it", async () => {
      const cwd = join(project, `with-${name}`);
      writeFileSync(
        join(cwd, "ask.mjs"),
        `import { openLake } from "barlake";
         const lake = openLake("data");
         const [row] = (await lake.query("SELECT count(*) AS bars FROM bars_1d")).rows();
         await lake.close();
         console.log(Number(row.bars) > 1000);\n`,
      );
      expect((await run(node, ["ask.mjs"], { cwd, env })).stdout).toBe("true\n");
    });
  });
});
