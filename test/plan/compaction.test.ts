import fc from "fast-check";
import { expect, test } from "vitest";
import { type CompactableFile, type CompactionGroup, planCompaction } from "../../src/plan/compaction.js";

const TARGET = 100;

interface TestFile extends CompactableFile {
  readonly id: string;
}

const file = (id: string, bytes: number, min?: string, max = min, partition = "p"): TestFile => ({
  id,
  partition,
  bytes,
  kind: "compacted",
  range: min === undefined || max === undefined ? undefined : { min, max },
});

const landed = (...args: Parameters<typeof file>): TestFile => ({ ...file(...args), kind: "landed" });
const foreign = (...args: Parameters<typeof file>): TestFile => ({ ...file(...args), kind: "other" });

function groups(files: readonly TestFile[]): [ids: string, outputs: number][] {
  return planCompaction(files, TARGET).flatMap((plan) =>
    plan.groups.map(({ files: members, outputs }): [string, number] => [
      members.map(({ id }) => id).join(""),
      outputs,
    ]),
  );
}

test.each<[string, TestFile[], [string, number][]]>([
  ["no files", [], []],
  ["one file, however large", [file("a", 950, "A", "Z")], []],
  ["small files that meet become one", [file("a", 10, "A", "M"), file("b", 10, "C", "Z")], [["ab", 1]]],
  ["small neighbours become one", [file("b", 60, "M", "Z"), file("a", 40, "A", "L")], [["ab", 1]]],
  ["neighbours that do not fit in one file stay", [file("a", 60, "A", "L"), file("b", 41, "M", "Z")], []],
  [
    "files that meet become as many as their bytes need",
    [file("a", 90, "A", "Z"), file("b", 90, "A", "Z"), file("c", 30, "B"), file("d", 30, "Y")],
    [["abcd", 3]],
  ],
  ["files that meet, and are few and large, stay", [file("a", 90, "A", "Z"), file("b", 90, "A", "Z")], []],
  [
    "one value in two files brings them together",
    [file("a", 40, "A", "B"), file("b", 40, "B", "C")],
    [["ab", 1]],
  ],
  [
    "a long range meets all that lies in it",
    [file("a", 90, "A", "Z"), file("b", 5, "B"), file("c", 4, "Y")],
    [["abc", 1]],
  ],
  [
    "a large file among small ones is not rewritten",
    [file("a", 98, "A", "C"), file("b", 5, "D"), file("c", 5, "E"), file("d", 98, "F")],
    [["bc", 1]],
  ],
  [
    "a file of unknown range meets all others",
    [file("a", 30, "A"), file("b", 30), file("c", 30, "C")],
    [["abc", 1]],
  ],
  ["a file a partition stays", [file("a", 1, "A", "Z", "p"), file("b", 1, "A", "Z", "q")], []],
  ["a landed file that is alone is sorted, and stays", [landed("a", 40, "A", "Z")], []],
  ["a file of another writer is rewritten, though it is alone", [foreign("a", 40, "A", "Z")], [["a", 1]]],
  [
    "landed files that meet are divided anew, though there are not fewer of them",
    [landed("a", 90, "A", "Z"), landed("b", 90, "A", "Z")],
    [["ab", 2]],
  ],
  ["a landed file that is large becomes several", [landed("a", 250, "A", "Z")], [["a", 3]]],
  [
    "of files that do not fit in one, only another writer's comes alone",
    [file("a", 90, "A", "L"), landed("b", 60, "M", "P"), foreign("c", 50, "Q", "Z")],
    [["c", 1]],
  ],
])("%s", (_, files, expected) => {
  expect(groups(files)).toEqual(expected);
});

const anyFiles = fc
  .array(
    fc.record({
      partition: fc.constantFrom("p", "q", "r"),
      bytes: fc.integer({ min: 1, max: 180 }),
      start: fc.nat(25),
      length: fc.oneof(fc.nat(3), fc.nat(25)),
      known: fc.integer({ min: 0, max: 20 }).map((n) => n > 0),
      kind: fc.constantFrom(...(["compacted", "landed", "other"] as const)),
    }),
    { maxLength: 24 },
  )
  .map((drafts) =>
    drafts.map(({ partition, bytes, start, length, known, kind }, i): TestFile => {
      const letter = (n: number): string => String.fromCharCode(65 + Math.min(25, n));
      const [min, max] = known ? [letter(start), letter(start + length)] : [];
      return { ...file(`f${i}`, bytes, min, max, partition), kind };
    }),
  );

test("every file is in one group of its partition at most; a group makes fewer files, or sorted ones", () => {
  fc.assert(
    fc.property(anyFiles, (files) => {
      const plans = planCompaction(files, TARGET);
      const taken = plans.flatMap((plan) => plan.groups.flatMap((group) => group.files));
      expect(new Set(taken).size).toBe(taken.length);
      expect(plans.map((plan) => plan.partition)).toEqual([...new Set(plans.map((p) => p.partition))].sort());
      for (const { partition, groups: planned } of plans) {
        expect(planned.length).toBeGreaterThan(0);
        for (const group of planned) {
          expect(new Set(group.files.map((one) => one.partition))).toEqual(new Set([partition]));
          if (group.files.every((one) => one.kind === "compacted"))
            expect(group.outputs).toBeLessThan(group.files.length);
          if (group.files.every((one) => one.kind === "landed"))
            expect(group.outputs + group.files.length).toBeGreaterThan(2);
          expect(group.outputs).toBe(Math.ceil(bytesOf(group.files) / TARGET));
        }
      }
    }),
  );
});

test("files outside a group do not meet it, so that its outputs overlap with none", () => {
  fc.assert(
    fc.property(anyFiles, (files) => {
      for (const { partition, groups: planned } of planCompaction(files, TARGET)) {
        for (const group of planned) {
          const others = files.filter((one) => one.partition === partition && !group.files.includes(one));
          for (const other of others) expect(group.files.some((one) => meet(one, other))).toBe(false);
        }
      }
    }),
  );
});

test("carried out until nothing is left, a plan leaves no small neighbours and no needless overlap", () => {
  fc.assert(
    fc.property(anyFiles, (files) => {
      let current: readonly TestFile[] = files;
      for (let round = 0; planCompaction(current, TARGET).length > 0; round++) {
        expect(round).toBeLessThan(4);
        current = carriedOut(current);
      }
      expect(bytesOf(current)).toBe(bytesOf(files));
      expect(current.every((one) => one.kind !== "other")).toBe(true);
      for (const partition of ["p", "q", "r"]) {
        const clusters = clustersOf(current.filter((one) => one.partition === partition));
        for (const [i, cluster] of clusters.entries()) {
          expect(cluster.length).toBeLessThanOrEqual(Math.ceil(bytesOf(cluster) / TARGET));
          const next = clusters[i + 1];
          if (next !== undefined) expect(bytesOf(cluster) + bytesOf(next)).toBeGreaterThan(TARGET);
        }
      }
    }),
  );
});

function bytesOf(files: readonly TestFile[]): number {
  return files.reduce((sum, one) => sum + one.bytes, 0);
}

function meet({ range: a }: TestFile, { range: b }: TestFile): boolean {
  return a === undefined || b === undefined || (a.min <= b.max && b.min <= a.max);
}

/** Files that meet, or that other files connect; ascending. */
function clustersOf(files: readonly TestFile[]): TestFile[][] {
  const clusters: TestFile[][] = [];
  for (const one of files) {
    const met = clusters.filter((cluster) => cluster.some((other) => meet(one, other)));
    for (const cluster of met) clusters.splice(clusters.indexOf(cluster), 1);
    clusters.push([one, ...met.flat()]);
  }
  const start = (cluster: readonly TestFile[]): string =>
    cluster.map((one) => one.range?.min ?? "").sort()[0] ?? "";
  return clusters.sort((a, b) => (start(a) < start(b) ? -1 : 1));
}

/** The files after a plan: each group's bytes in equal parts, its outputs one after the other within its range. */
function carriedOut(files: readonly TestFile[]): TestFile[] {
  const planned = planCompaction(files, TARGET).flatMap((plan) => plan.groups);
  const gone = new Set(planned.flatMap((group) => group.files));
  return [...files.filter((one) => !gone.has(one)), ...planned.flatMap(outputsOf)];
}

function outputsOf({ files, outputs }: CompactionGroup<TestFile>): TestFile[] {
  const first = files.map((one) => one.range?.min ?? "A").reduce((a, b) => (a < b ? a : b));
  const total = bytesOf(files);
  return Array.from({ length: outputs }, (_, i) => {
    const bytes = Math.floor((total * (i + 1)) / outputs) - Math.floor((total * i) / outputs);
    const value = i === 0 ? first : `${first}${String(i).padStart(3, "0")}`;
    return file(`${files[0]?.id}-${i}`, bytes, value, value, files[0]?.partition);
  });
}
