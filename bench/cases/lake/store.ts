import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findStore, type StoreServer, startStore } from "../../../src/cli/demo/demo-lakes.js";
import { Session } from "../../../src/db/session/session.js";
import { httpfsFolder } from "../../../src/db/session/store-access.js";
import { Lake, rowCount } from "../../../src/lake/lake.js";
import { writerSpillOptions } from "../../../src/lake/local/work-folder.js";
import { copyLake } from "../../../src/lake/maintenance/copy-lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import type { LandingOrder } from "../../lakes/landing-process.js";
import { writeYear } from "../../lakes/year-of-minutes.js";
import type { Benchmark, Case, Outcome } from "../../measure/benchmark.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

/** A question over the view `bars_1m`; its sums are compared. */
interface Question {
  readonly name: string;
  readonly where: string;
}

const QUESTIONS: readonly Question[] = [
  { name: "a symbol's day", where: "symbol = '600003.SH' AND trade_date = '2025-01-15'" },
  { name: "a day's cross-section", where: "trade_date = '2025-01-15'" },
];

/** Numbers of processes that land at the same time; to start one takes longer than a small landing. */
const WRITERS = { full: [1, 8], smoke: [1, 2] } as const;

/** Where lakes are: the disk, or a store. */
interface Place {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A location that nothing uses yet. */
  readonly newLocation: () => string;
}

/** The same work on the disk and on a store of this machine: what requests over HTTP cost, without a network. */
export const store: Benchmark = {
  name: "store",
  doc: "questions to a lake in an object store on loopback, and landings there, against the same on the disk",
  shared: true,
  async prepare(size) {
    const folder = temporaryFolder();
    const server = await startHere(folder.path);
    const disk: Place = {
      name: "disk",
      environment: {},
      newLocation: () => join(folder.path, "lakes", randomUUID()),
    };
    const places = [disk, ...(server === undefined ? [] : [storePlace(server, folder.path)])];
    const spec = size === "full" ? { symbols: 400, months: 6 } : { symbols: 5, months: 1 };
    const filled = await fill(places, spec);
    const rows = rowCount(await (filled[0] as Lake).snapshot(BARS_1M));
    const bars =
      size === "full" ? { symbols: 100, barsPerSymbol: 10_000 } : { symbols: 2, barsPerSymbol: 500 };
    const cases = [
      ...QUESTIONS.flatMap((question) => [
        ...places.map((place, n) => firstReading(place, filled[n] as Lake, question)),
        ...places.map((place, n) => secondReading(place, filled[n] as Lake, question)),
      ]),
      ...WRITERS[size].flatMap((writers) => places.map((place) => landing(place, writers, bars))),
    ];
    const where = server === undefined ? "no store here: test/interop/stores.sh builds one" : "versitygw";
    return {
      summary: `${where}; ${rows} bars; each landing ${bars.symbols * bars.barsPerSymbol} bars`,
      work: { "times/s": 1 },
      cases: cases as [Case, ...Case[]],
      async close() {
        await server?.stop();
        folder[Symbol.dispose]();
      },
    };
  },
};

async function startHere(folder: string): Promise<StoreServer | undefined> {
  const program = findStore("versitygw", process.env);
  if (program === undefined || httpfsFolder(process.env) === undefined) return undefined;
  return startStore("versitygw", program, { folder: join(folder, "store"), bucket: "lakes" });
}

function storePlace({ bucket, env }: StoreServer, folder: string): Place {
  const extensions = httpfsFolder(process.env) ?? "";
  return {
    name: "store",
    environment: { ...env, BARLAKE_WORK: join(folder, "work"), BARLAKE_DUCKDB_EXTENSIONS: extensions },
    newLocation: () => `s3://${bucket}/${randomUUID()}`,
  };
}

/** Makes the same lake at each place, and verifies its files there: that happens once on each machine. */
async function fill(places: readonly Place[], spec: Parameters<typeof writeYear>[2]): Promise<Lake[]> {
  const lakes: Lake[] = [];
  for (const { newLocation, environment } of places) {
    const lake = new Lake(newLocation(), { environment, hasDatabase: false });
    const [first] = lakes;
    if (first === undefined) {
      using session = await Session.open(writerSpillOptions(lake.work));
      await writeYear(session, lake, spec);
    } else await copyLake(first, lake);
    const { session } = await openReader(lake);
    await session.run("SELECT sum(close), sum(volume) FROM bars_1m");
    session.close();
    lakes.push(lake);
  }
  return lakes;
}

function questionOf({ where }: Question): string {
  return `SELECT count(*)::DOUBLE AS rows, sum(close) AS close, sum(volume)::DOUBLE AS volume, sum(amount) AS amount
    FROM bars_1m WHERE ${where}`;
}

/** The first question of a session that was just opened: nothing of the data files is cached. */
function firstReading(place: Place, lake: Lake, question: Question): Case {
  return reading("first", place, lake, question, async () => {});
}

/** The same question once more. */
function secondReading(place: Place, lake: Lake, question: Question): Case {
  return reading("again", place, lake, question, async (session) => {
    await session.run(questionOf(question));
  });
}

function reading(
  which: string,
  place: Place,
  lake: Lake,
  question: Question,
  before: (session: Session) => Promise<void>,
): Case {
  return {
    name: `${place.name}: ${question.name}, ${which}`,
    baseline: `disk: ${question.name}, ${which}`,
    async run(timed) {
      const { session } = await openReader(lake);
      using reader = session;
      await before(reader);
      const [sums] = await timed(() => reader.json<Record<string, number>>(questionOf(question)));
      return { checks: sums ?? {} };
    },
  };
}

/** Processes that land bars of different symbols in one new lake at the same time; they are started before. */
function landing(place: Place, writers: number, bars: LandingOrder["bars"]): Case {
  const name = writers === 1 ? "a landing" : `${writers} processes, a landing each`;
  return {
    name: `${place.name}: ${name}`,
    baseline: `disk: ${name}`,
    async run(timed) {
      const { environment, newLocation } = place;
      const location = newLocation();
      const lake = new Lake(location, { environment, hasDatabase: false });
      // The first write to a store probes it, once for each lake.
      await lake.storage.put("benchmark", "");
      const processes = await Promise.all(
        Array.from({ length: writers }, (_, n) =>
          startWriter({ location, environment, bars, first: n * bars.symbols }),
        ),
      );
      try {
        await timed(() => Promise.all(processes.map(land)));
      } finally {
        for (const child of processes) child.disconnect();
      }
      return outcomeOf(lake);
    },
  };
}

async function startWriter(order: LandingOrder): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("../../lakes/landing-process.ts", import.meta.url)));
  child.send(order);
  await reply(child, "ready");
  return child;
}

async function land(child: ChildProcess): Promise<void> {
  child.send("land");
  await reply(child, "landed");
}

async function reply(child: ChildProcess, expected: string): Promise<void> {
  const ended = once(child, "exit").then(() => [undefined]);
  const [message] = await Promise.race([once(child, "message"), ended]);
  if (message !== expected) throw new Error(`a writer did not report ${expected}, but ${String(message)}`);
}

async function outcomeOf(lake: Lake): Promise<Outcome> {
  const snapshot = await lake.snapshot(BARS_1M);
  return { checks: { rows: rowCount(snapshot), files: snapshot.files.size } };
}
