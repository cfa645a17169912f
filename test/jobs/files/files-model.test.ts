import fc from "fast-check";
import { expect, test } from "vitest";
import { compareText } from "../../../src/core/text-order.js";
import { LandedFiles } from "../../../src/jobs/files/landed-files.js";
import { restoreLake } from "../../../src/jobs/maintenance/restore-lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { cases } from "../../sweep.js";
import { barsCsv, filesPlace } from "./files-place.js";
import { hashOf } from "./hash-of.js";

const NAMES = ["a.csv", "b.csv", "c.csv", "sub/a.csv"] as const;
const DATES = ["2026-03-02", "2026-03-03", "2026-03-04"] as const;

type Closes = Partial<Record<(typeof DATES)[number], number>>;
type Action =
  | { readonly kind: "write"; readonly name: string; readonly closes: Closes }
  | { readonly kind: "break"; readonly name: string; readonly how: number }
  | { readonly kind: "delete"; readonly name: string }
  | { readonly kind: "run" }
  | { readonly kind: "kill"; readonly write: number }
  | { readonly kind: "restore"; readonly back: number };

const name = fc.constantFrom(...NAMES);
const closes = fc
  .dictionary(fc.constantFrom(...DATES), fc.integer({ min: 10, max: 12 }), { minKeys: 1 })
  .map((some) => some as Closes);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("write" as const), name, closes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("break" as const), name, how: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), name }) },
  { weight: 4, arbitrary: fc.constant({ kind: "run" as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("kill" as const), write: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restore" as const), back: fc.nat(3) }) },
);

/** What the lake has: the close by date, and the content of each landed file. */
interface State {
  readonly rows: ReadonlyMap<string, number>;
  readonly landed: ReadonlyMap<string, string>;
}

/** What a run does, by the rules alone: the states of the lake one after another, and what it reports. */
function runOf(folder: ReadonlyMap<string, string>, broken: ReadonlySet<string>, before: State) {
  const known = new Set(before.landed.values());
  const waiting = new Map<string, string>();
  const [copies, twins]: [Map<string, string>, Map<string, string>] = [new Map(), new Map()];
  let unchanged = 0;
  for (const [file, content] of [...folder].sort(([a], [b]) => compareText(a, b))) {
    const own = before.landed.get(file);
    if (own === content) unchanged += 1;
    else if (own === undefined && known.has(content)) copies.set(file, content);
    else if (own === undefined && [...waiting.values()].includes(content)) twins.set(file, content);
    else waiting.set(file, content);
  }
  const isGood = ([, content]: [string, string]): boolean => !broken.has(content);
  const rows = new Map(before.rows);
  for (const [, content] of [...waiting].filter(isGood))
    for (const line of content.trim().split("\n").slice(1)) {
      const [, date = "", close] = line.split(",");
      rows.set(date, Number(close));
    }
  const withCopies = new Map([...before.landed, ...copies]);
  const withLanded = new Map([...withCopies, ...[...waiting].filter(isGood)]);
  const states: State[] = [
    before,
    { rows: before.rows, landed: withCopies },
    { rows, landed: withLanded },
    { rows, landed: new Map([...withLanded, ...[...twins].filter(isGood)]) },
  ];
  const refused = [...waiting, ...twins].filter((one) => !isGood(one)).map(([file]) => file);
  const landed = [...waiting].filter(isGood).map(([file]) => file);
  const copied = [...copies, ...[...twins].filter(isGood)].map(([file]) => file);
  return { states, refused: refused.sort(), landed, copied: copied.sort(), unchanged };
}

test("every sequence of changes, runs, kills and restores leaves what the rules say", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 14 }), async (actions) => {
      const place = filesPlace({ options: { volumeUnit: "shares" } });
      const { lake, clock } = place;
      const folder = new Map<string, string>();
      const broken = new Set<string>();
      let state: State = { rows: new Map(), landed: new Map() };
      const restorable: { version: number; state: State }[] = [];
      const actual = async (): Promise<{ rows: unknown; landed: unknown }> => {
        const rows = await place.query<{ date: string; close: number }>(
          "SELECT trade_date::VARCHAR AS date, close FROM raw.bars_1d",
        );
        const landed = await LandedFiles.read(lake, place.pipeline, undefined);
        return {
          rows: new Map(rows.map(({ date, close }) => [date, close])),
          landed: new Map(
            NAMES.flatMap((one) =>
              landed.contentOf(one) === undefined ? [] : [[one, landed.contentOf(one)]],
            ),
          ),
        };
      };
      const stored = ({ rows, landed }: State) => ({
        rows,
        landed: new Map([...landed].map(([one, content]) => [one, hashOf(content)])),
      });
      for (const one of [...actions, { kind: "run" } as const]) {
        switch (one.kind) {
          case "write":
          case "break": {
            const content = one.kind === "write" ? barsCsv(one.closes) : `broken ${one.how}\n`;
            if (one.kind === "break") broken.add(content);
            place.write(one.name, content);
            folder.set(one.name, content);
            break;
          }
          case "delete":
            if (folder.delete(one.name)) place.remove(one.name);
            break;
          case "run": {
            const expected = runOf(folder, broken, state);
            const { status, files } = await place.run();
            expect({
              status,
              landed: files.landed.map(({ file }) => file),
              copied: files.copies.map(({ file }) => file).sort(),
              refused: files.refused.map(({ file }) => file).sort(),
              unchanged: files.unchanged,
              left: files.leftToNextRun,
            }).toEqual({
              status: expected.refused.length > 0 ? "partial" : "complete",
              landed: expected.landed,
              copied: expected.copied,
              refused: expected.refused,
              unchanged: expected.unchanged,
              left: [],
            });
            state = expected.states.at(-1) as State;
            expect((await place.refused()).map(({ file }) => file)).toEqual(expected.refused);
            break;
          }
          case "kill": {
            const { states } = runOf(folder, broken, state);
            await place.runKilled(one.write);
            const found = await actual();
            const reached = states.findLast((candidate) => sameAs(stored(candidate), found));
            expect(
              reached,
              "a kill leaves rows without their records, or records without rows",
            ).toBeDefined();
            state = reached as State;
            break;
          }
          case "restore": {
            const target = restorable.at(-1 - one.back);
            if (target === undefined) break;
            clock.advance(1000);
            const { version } = target;
            const done = await restoreLake(lake, { kind: "version", version }, { tables: [BARS_1D], clock });
            if (done.reports[0]?.version !== undefined) state = target.state;
            break;
          }
        }
        expect(await actual()).toEqual(stored(state));
        const { version } = await lake.snapshot(BARS_1D);
        if (version >= 0 && restorable.at(-1)?.version !== version) restorable.push({ version, state });
      }
    }),
    { numRuns: cases({ few: 3, more: 25, all: 400 }), endOnFailure: true },
  );
});

function sameAs(a: unknown, b: unknown): boolean {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
}
