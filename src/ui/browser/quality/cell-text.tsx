import type { CellValue, ColumnReport } from "../../quality/quality-data.js";
import { qualityText } from "./quality-texts.js";

/** The head of a column, with its unit. */
export function ColumnHead({ column: { name, unit } }: { readonly column: ColumnReport }) {
  return (
    <th scope="col">
      {name.replaceAll("_", " ")} {unit !== null && <small>{unit}</small>}
    </th>
  );
}

/** A value as it is stored: a number with all of its digits, a text as text. */
export function CellText({ value }: { readonly value: CellValue }) {
  return <td class={typeof value === "number" ? "n" : "value"}>{cellText(value)}</td>;
}

/** A value as text. */
function cellText(value: CellValue): string {
  if (value === null) return "·";
  if (typeof value === "boolean") return qualityText(value ? "yes" : "no");
  if (typeof value === "number") return value.toLocaleString("en-US", { maximumSignificantDigits: 12 });
  return value;
}
