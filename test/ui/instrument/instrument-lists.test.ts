import { expect, test } from "vitest";
import type { Reader } from "../../../src/lake/open-reader.js";
import { InstrumentLists } from "../../../src/ui/instrument/instrument-lists.js";
import type { FoundInstrument } from "../../../src/ui/page-data.js";
import type { LakeState } from "../../../src/ui/session/lake-states.js";

const STATE = { id: "one" } as LakeState;
const symbols = (list: readonly FoundInstrument[]): string[] => list.map(({ symbol }) => symbol);

/** A session whose instruments are known at once, and whose bars when `release` is called. */
function slowBars(named: readonly string[], others: readonly string[]) {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let uses = 0;
  const json = async (sql: string): Promise<unknown> => {
    const isBars = sql.includes("bars_1d");
    if (isBars) await released;
    return (isBars ? others : named).map((symbol) => ({ symbol, name: null, nameEn: null, type: null }));
  };
  const read = (use: (reader: Reader) => Promise<FoundInstrument[]>): Promise<FoundInstrument[]> => {
    uses++;
    return use({ session: { json } } as unknown as Reader);
  };
  return { read, release, uses: () => uses };
}

test("instruments are found before the bars are read; symbols that only have bars, after", async () => {
  const lists = new InstrumentLists();
  const { read, release, uses } = slowBars(["B.US"], ["A.US"]);
  const first = await lists.soonest(STATE, read);
  expect([symbols(first.list), first.isWhole]).toEqual([["B.US"], false]);
  release();
  expect(symbols(await lists.whole(STATE, read))).toEqual(["A.US", "B.US"]);
  const second = await lists.soonest(STATE, read);
  expect([symbols(second.list), second.isWhole, uses()]).toEqual([["A.US", "B.US"], true, 1]);
});

test("a lake without metadata waits for its bars", async () => {
  const { read, release } = slowBars([], ["A.US"]);
  const soonest = new InstrumentLists().soonest(STATE, read);
  release();
  const { list, isWhole } = await soonest;
  expect([symbols(list), isWhole]).toEqual([["A.US"], true]);
});

test("a failure is not cached", async () => {
  const lists = new InstrumentLists();
  const refused = () => Promise.reject(new Error("damaged"));
  await expect(lists.soonest(STATE, refused)).rejects.toThrow("damaged");
  const { read, release } = slowBars([], ["A.US"]);
  release();
  expect(symbols(await lists.whole(STATE, read))).toEqual(["A.US"]);
});
