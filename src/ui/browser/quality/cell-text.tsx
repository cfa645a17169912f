import type { CellValue, ColumnReport } from "../../quality/quality-data.js";
import { qualityText } from "./quality-texts.js";

/** The head of a column, with its unit. @param values of the column, which decide on which side it is aligned */
export function ColumnHead({
  column: { name, unit },
  values,
}: {
  readonly column: ColumnReport;
  readonly values: readonly (CellValue | undefined)[];
}) {
  return (
    <th scope="col" class={values.some((value) => typeof value === "number") ? "n" : ""}>
      {name.replaceAll("_", " ")} {unit !== null && <small>{unit}</small>}
    </th>
  );
}

/** Number of significant digits of a stored value. */
const ALL_DIGITS = 12;

/**
 * A value as it is stored: a number with all digits, a text unchanged.
 *
 * @param unit the unit of a computed value. For ratios, only the significant digits are shown.
 */
export function CellText({
  value,
  unit = null,
}: {
  readonly value: CellValue;
  readonly unit?: string | null;
}) {
  if (typeof value !== "number") return <td class="value">{cellText(value, ALL_DIGITS)}</td>;
  const isComputed = unit?.endsWith("ratio") === true;
  return (
    <td class="n" title={isComputed ? cellText(value, ALL_DIGITS) : undefined}>
      {cellText(value, isComputed ? 4 : ALL_DIGITS)}
    </td>
  );
}

/** A value as text. */
function cellText(value: CellValue, digits: number): string {
  if (value === null) return "·";
  if (typeof value === "boolean") return qualityText(value ? "yes" : "no");
  if (typeof value === "number") return value.toLocaleString("en-US", { maximumSignificantDigits: digits });
  return value;
}
