import { TZDate } from "@date-fns/tz";
import { format } from "date-fns/format";
import { UsageError } from "../../core/errors.js";
import { dateOfEpochDay } from "../../core/time.js";
import type { Block, Labels } from "../panel/block.js";
import type { WriterPlace } from "./dataset-writer.js";

export interface CsvProfile {
  /** Folder of the files, ending with `/`; empty for the dataset's folder. */
  readonly folder: string;
  readonly header: string;
  /** Name of a symbol's file, without its extension. */
  nameOf(symbol: string): string;
  /** Prepares a symbol of a block. The returned function returns the line of a label. */
  open(block: Block, symbol: number): Promise<(label: number) => string>;
  /** Writes the files that need all symbols. */
  finish?(): void;
}

/** The prices of a bar that every engine reads. */
export const PRICES = ["open", "high", "low", "close"] as const;

/** Index of a field that a format needs. @throws {UsageError} where the spec lacks it. */
export function fieldIndex({ shape, spec }: WriterPlace, name: string): number {
  const index = shape.fields.findIndex((field) => field.name === name);
  if (index >= 0) return index;
  throw new UsageError(`dataset ${spec.name}: ${spec.format} needs the field ${name}`, {
    hint: "leave fields out for those that it needs",
  });
}

/** The shortest text that reads back to a number; empty for NaN. */
export function numberText(value: number): string {
  return Number.isNaN(value) ? "" : String(value);
}

export function numberOr0(value: number | undefined): number {
  return value === undefined || Number.isNaN(value) ? 0 : value;
}

/** A volume as a whole number; 0 where nothing traded. */
export function volumeOf(value: number | undefined): number {
  return Math.round(numberOr0(value));
}

/** Labels as texts: dates as `2026-11-20`, minutes as `2026-11-20 09:31:00` in a zone. */
export function labelTexts({ count, days, times }: Labels, zone: string): (label: number) => string {
  const texts = Array.from({ length: count }, (_, label) => {
    const time = times?.[label];
    return time === undefined
      ? dateOfEpochDay(days[label] as number)
      : format(new TZDate(time, zone), "yyyy-MM-dd HH:mm:ss");
  });
  return (label) => texts[label] as string;
}
