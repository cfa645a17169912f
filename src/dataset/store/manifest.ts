import { z } from "zod";
import { LakeError, messageOf, UsageError } from "../../core/errors.js";
import { parseTradingDate } from "../../core/time.js";
import type { UnvouchedCloses } from "../../db/market/unvouched-closes.js";
import type { Storage } from "../../lake/storage/storage.js";
import type { KnownAt } from "../../market/known-at.js";
import type { Coverage } from "../panel/coverage.js";
import { type DatasetDefinition, type DatasetSpec, defineDataset } from "../spec.js";

export const MANIFEST = "manifest.json";
/** Version of {@link Manifest}; it changes whenever older readers would fail. */
const LAYOUT = 1;

/** What a dataset was built from: with it and the lake's versions, the dataset can be built again. */
export interface Manifest {
  readonly layout: typeof LAYOUT;
  readonly name: string;
  readonly spec: DatasetSpec;
  /** Program and version that built it. */
  readonly engine: string;
  readonly createdAt: string;
  /** Absolute folder of the lake. */
  readonly lake: string;
  /** Version of each table that it was built from. */
  readonly tables: Readonly<Record<string, number>>;
  /** What was known then is in it; absent where everything is. */
  readonly knownAt?: KnownAt | undefined;
  /** With `knownAt`: whether the first version of reference data counted as known before it was seen. */
  readonly assumesReference?: boolean | undefined;
  /** Digest of the SQL of all views, including the user's own. */
  readonly views: string;
  /** First and last label's trading date. */
  readonly first: string;
  readonly last: string;
  readonly labels: number;
  readonly symbols: readonly string[];
  /** Rows between each symbol's first and last bar. */
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  /** Digest of the list of digests: equal content has an equal digest. */
  readonly content: string;
  /** Digest of its labels and of the dates of its members; absent from datasets of earlier releases. */
  readonly past?: string | undefined;
  /**
   * Digest of the content of each table with a commit, by the hashes in the names of its files: two lakes may have the
   * same versions. Absent from datasets of earlier releases.
   */
  readonly sources?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether all files of the lake that it was built from were compared with the hashes in their names, by this build or
   * the one that it continues; absent from datasets of earlier releases.
   */
  readonly verified?: boolean | undefined;
  /** Absent where the universe has no dates of membership, and from datasets of earlier releases. */
  readonly coverage?: Coverage | undefined;
  /** What is known of its days, for an append; absent where prices are not adjusted, and from earlier releases. */
  readonly unvouched?: UnvouchedCloses | undefined;
  readonly warnings: readonly string[];
}

export function manifestOf(facts: Omit<Manifest, "layout">): Manifest {
  return { layout: LAYOUT, ...facts };
}

const count = z.number().int().min(0);
const tradingDate = z.string().transform(parseTradingDate);
const dated = z.array(z.object({ from: z.string().nullable(), to: z.string().nullable() }));
const coverage = z.object({
  recordedFrom: z.string().nullable(),
  dates: count,
  unrecorded: count,
  ranges: z.array(
    z.object({
      first: z.string(),
      last: z.string(),
      dates: count,
      members: count,
      withBars: count,
      withoutBars: count,
    }),
  ),
  noBars: z.array(
    z.object({
      symbol: z.string(),
      dates: count,
      first: z.string(),
      last: z.string(),
      membership: dated,
    }),
  ),
  someBars: z.array(
    z.object({ symbol: z.string(), dates: count, without: count, first: z.string(), last: z.string() }),
  ),
  joined: count,
  left: count,
  isTold: z.boolean(),
});
const shape = z.object({
  layout: z.number(),
  name: z.string(),
  spec: z.unknown(),
  engine: z.string(),
  createdAt: z.string(),
  lake: z.string(),
  tables: z.record(z.string(), z.number().int().min(-1)),
  knownAt: z.union([z.number(), tradingDate]).optional(),
  assumesReference: z.boolean().optional(),
  views: z.string(),
  first: z.string(),
  last: z.string(),
  labels: count,
  symbols: z.array(z.string()),
  rows: count,
  files: count,
  bytes: count,
  content: z.string(),
  past: z.string().optional(),
  sources: z.record(z.string(), z.string()).optional(),
  verified: z.boolean().optional(),
  coverage: coverage.optional(),
  unvouched: z
    .object({
      closes: count,
      symbols: z.array(z.string()),
      examples: z.array(z.object({ symbol: z.string(), last: tradingDate, date: tradingDate })),
    })
    .optional(),
  warnings: z.array(z.string()),
});

/** Reads a dataset's manifest. @throws {UsageError} where there is none, {@link LakeError} where it is damaged. */
export async function readManifest(storage: Storage): Promise<Manifest> {
  const text = await storage.readText(MANIFEST);
  if (text === undefined)
    throw new UsageError(`dataset ${storage.location}: has no ${MANIFEST}`, {
      hint: "barlake dataset list shows those there are",
    });
  try {
    const { success, data, error } = shape.safeParse(JSON.parse(text));
    if (!success)
      throw new LakeError(
        error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "),
      );
    const { layout, ...found } = data;
    if (layout !== LAYOUT) {
      throw new LakeError(`its layout is ${layout}, and this version of barlake reads ${String(LAYOUT)}`);
    }
    return { layout: LAYOUT, ...found, spec: defineDataset(found.spec as DatasetDefinition) };
  } catch (cause) {
    throw new LakeError(`${storage.urlOf(MANIFEST)}: ${messageOf(cause)}`, {
      cause,
      hint: 'build the dataset again with `existing: "replace"`',
    });
  }
}
