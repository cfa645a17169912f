import { lowerBound } from "../../core/lower-bound.js";
import { MINUTE_MS } from "../../core/time.js";
import type { Block, FieldCells, Labels, PanelShape, PanelSymbol } from "../panel/block.js";
import type { FloatFiles } from "../store/file-thread.js";
import { labelTexts } from "./csv-profile.js";
import { type DatasetWriter, refuseEqualNames, type WriterPlace } from "./dataset-writer.js";
import { qlibFolder, qlibInstrument, statementWriter } from "./qlib-statements.js";

/** A range of labels, both ends inclusive. */
interface Run {
  readonly first: number;
  readonly last: number;
}

/**
 * Writes qlib's own layout (microsoft/qlib, docs/component/data.rst): `calendars/day.txt`; `instruments/all.txt` and
 * one file for the universe, with `instrument, first date, last date` separated by tabs; and
 * `features/<instrument>/<field>.day.bin`, little-endian float32: the first number is the calendar index of the second
 * one. Masks are fields of 0 and 1. Minutes are `1min`, and labelled by their start. Statements are in `financial/`.
 *
 * @throws {UsageError} for names that are equal in lower case, in which qlib reads them.
 */
export function qlibWriter(place: WriterPlace): DatasetWriter {
  const { spec, shape, files, continued } = place;
  refuseNames(place);
  const frequency = spec.period === "1m" ? "1min" : "day";
  const texts = labelTexts(startsOf(shape.labels), place.zone);
  const columns = [...shape.fields.map(({ name }) => name), ...shape.masks];
  const endings = columns.map((name) => `${name.toLowerCase()}.${frequency}.bin`);
  /** The indexes of the columns, by the names of their files: the list of files is nearly sorted then. */
  const order = [...endings.keys()].sort((a, b) =>
    (endings[a] as string) < (endings[b] as string) ? -1 : 1,
  );
  const statements = spec.statements && statementWriter(place, spec.statements);
  const all: string[] = [];
  const members: string[] = [];
  const line = (symbol: string, { first, last }: Run): string =>
    `${qlibInstrument(symbol)}\t${texts(first)}\t${texts(last)}\n`;
  const featuresOf = (block: Block): FloatFiles => {
    const own = [...block.symbols.keys()].filter((s) => (block.first[s] as number) >= 0);
    const of = (value: (s: number) => number): Float64Array => Float64Array.from(own, value);
    const before = (s: number): number => continued?.[block.start + s] ?? -1;
    const first = (s: number): number => block.first[s] as number;
    const cells = [...block.fields, ...block.masks];
    return {
      folders: own.map((s) => `features/${qlibFolder((block.symbols[s] as PanelSymbol).symbol)}`),
      heads: of((s) => (before(s) < 0 ? first(s) : Number.NaN)),
      starts: of((s) => s * block.width + (before(s) < 0 ? first(s) : before(s) + 1)),
      ends: of((s) => s * block.width + (block.last[s] as number) + 1),
      columns: order.map((c) => ({ name: endings[c] as string, cells: cells[c] as FieldCells | Uint8Array })),
    };
  };
  return {
    async write(block) {
      await statements?.write(block);
      for (const [s, { symbol }] of block.symbols.entries()) {
        const run = { first: block.first[s] as number, last: block.last[s] as number };
        if (run.first < 0) continue;
        all.push(line(symbol, run));
        for (const member of memberRuns(block, s, shape, run)) members.push(line(symbol, member));
      }
      await files.putAll(featuresOf(block));
    },
    async finish() {
      const labels = Array.from({ length: shape.labels.count }, (_, label) => `${texts(label)}\n`);
      files.put(`calendars/${frequency}.txt`, labels.join(""));
      warnOfMinutes(place, labels);
      files.put("instruments/all.txt", all.join(""));
      const universe = typeof spec.universe === "string" ? spec.universe : spec.name;
      if (universe.toLowerCase() !== "all")
        files.put(`instruments/${fileName(universe)}.txt`, members.join(""));
      await statements?.finish();
    },
  };
}

/** Labels minutes by their start: qlib's minutes begin at 09:30 and 13:00 (qlib/utils/time.py, `get_min_cal`). */
function startsOf(labels: Labels): Labels {
  return { ...labels, times: labels.times?.map((end) => end - MINUTE_MS) };
}

/** Sessions that qlib supports, as minutes labelled by their start. */
const SESSIONS: Readonly<Record<string, RegExp>> = {
  "Asia/Shanghai": / (09:[345]\d|10:\d\d|11:[012]\d|13:\d\d|14:\d\d):/,
  "America/New_York": / (09:[345]\d|1[0-5]:\d\d):/,
};

function warnOfMinutes({ shape, zone, warn }: WriterPlace, labels: readonly string[]): void {
  const session = SESSIONS[zone];
  if (shape.labels.times === undefined || session === undefined) return;
  const outside = labels.filter((text) => !session.test(text));
  if (outside.length > 0)
    warn(
      `${outside.length} minutes lie outside of qlib's sessions, ${outside[0]?.trim()} among them: it reads them, but what resamples minutes, or wants 240 a day, does not expect them`,
    );
}

function refuseNames({ spec, shape }: WriterPlace): void {
  const reason = "qlib, which reads names in lower case";
  const columns = [...shape.fields.map(({ name }) => name), ...shape.masks];
  refuseEqualNames(`dataset ${spec.name}: fields`, columns, (name) => name.toLowerCase(), reason);
  const symbols = shape.symbols.map(({ symbol }) => symbol);
  refuseEqualNames(`dataset ${spec.name}: universe`, symbols, qlibFolder, reason);
}

/** A universe's file name: qlib reads it in lower case. */
function fileName(universe: string): string {
  return universe.toLowerCase().replaceAll(/[^a-z0-9_.-]/g, "_");
}

/** The ranges of labels at which a symbol is in the universe, between its first bar and its last. */
function memberRuns({ symbols, ripe }: Block, s: number, shape: PanelShape, { first, last }: Run): Run[] {
  const { days } = shape.labels;
  const start = Math.max(first, ripe[s] as number);
  const labelAt = (day: number): number =>
    lowerBound(start, last + 1, (label) => (days[label] as number) >= day);
  const runs: Run[] = [];
  for (const spell of symbols[s]?.spells ?? []) {
    const run = { first: labelAt(spell.start), last: labelAt(spell.end) - 1 };
    if (run.first > run.last) continue;
    const before = runs.at(-1);
    // Spells begin in ascending order, and may overlap.
    if (before === undefined || run.first > before.last + 1) runs.push(run);
    else runs[runs.length - 1] = { first: before.first, last: Math.max(before.last, run.last) };
  }
  return runs;
}
