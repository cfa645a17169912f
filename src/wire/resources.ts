import { z } from "zod";

/** An extension object, discriminated by `type`; unknown members and variants pass through untouched. */
const ext = z.looseObject({ type: z.string().optional() });

export const instrument = z.looseObject({
  symbol: z.string(),
  code: z.string(),
  exchange: z.string(),
  region: z.string(),
  name: z.string().nullish(),
  type: z.string(),
  ext: ext.nullish(),
});
export type Instrument = z.infer<typeof instrument>;

export const universeSummary = z.looseObject({
  id: z.string(),
  name: z.string(),
  category: z.string(),
  region: z.string(),
  symbol_count: z.int().nonnegative(),
  description: z.string().nullish(),
});
export type UniverseSummary = z.infer<typeof universeSummary>;

export const universeDetail = z.looseObject({ ...universeSummary.shape, symbols: z.array(z.string()) });
export type UniverseDetail = z.infer<typeof universeDetail>;

export const exchangeSummary = z.looseObject({
  exchange: z.string(),
  region: z.string(),
  count: z.int().nonnegative(),
});
export type ExchangeSummary = z.infer<typeof exchangeSummary>;

const isoDate = z.iso.date();

/** A record of a balance sheet or cash flow statement: its dates, and numbers by field name. */
export const statementRecord = z
  .object({ period_end: isoDate, announce_date: isoDate.nullish() })
  .catchall(z.unknown());
export type StatementRecord = z.infer<typeof statementRecord>;

/** Envelopes of the row-like answers. The elements are checked one by one, so that a bad one does not lose the rest. */
export const listEnvelope = z.looseObject({ data: z.array(z.unknown()) });
export const mapEnvelope = z.looseObject({ data: z.record(z.string(), z.unknown()) });
