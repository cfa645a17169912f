import { type ImportOptions, UNIT_FACTORS } from "../import-options.js";
import type { FileVerdict } from "../table-import.js";
import type { TextFile } from "../text/text-file.js";
import type { FileColumn } from "./choose-columns.js";
import { amountUnit, volumeUnit } from "./field-names.js";
import { type NamedUnit, unitOfName, unitsOfLine } from "./named-unit.js";

/** What an item counts, as far as units go. */
export type UnitKind = "money" | "shares" | "none";

interface StatedUnits {
  /** Units of its amounts of money, by their power of ten. */
  readonly money: ReadonlyMap<number, NamedUnit>;
  /** The unit of its numbers of shares, where no name of a column says it. */
  readonly shares: NamedUnit | undefined;
  /** A column in a unit that its item cannot have. */
  readonly wrong: { readonly item: string; readonly column: string; readonly unit: NamedUnit } | undefined;
}

/** Whether items of a kind are read in a unit. Those that are no amounts of money, such as earnings a share, may name their currency. */
export function isReadIn({ of, exponent }: NamedUnit, kind: UnitKind): boolean {
  if (kind === "none") return of === "money" && exponent === 0;
  return of === undefined || of === kind;
}

/** Finds what the names of columns and the lines before the header say about units. @param items columns by the item's name. */
export function statedUnits(
  { csv }: Pick<TextFile, "csv">,
  items: ReadonlyMap<string, FileColumn>,
  kindOf: (item: string) => UnitKind,
): StatedUnits {
  const money = new Map<number, NamedUnit>();
  let wrong: StatedUnits["wrong"];
  const bare = new Set<UnitKind>();
  const kinds = new Set<UnitKind>();
  for (const [item, { name }] of items) {
    const unit = unitOfName(name);
    const kind = kindOf(item);
    kinds.add(kind);
    if (unit === undefined) {
      bare.add(kind);
      continue;
    }
    if (!isReadIn(unit, kind)) wrong ??= { item, column: name, unit };
    else if (kind === "money") money.set(unit.exponent, unit);
  }
  const lines = (csv?.preamble ?? []).flatMap(unitsOfLine);
  const ofMoney = lines.find(({ of }) => of === undefined || of === "money");
  const ofShares =
    lines.find(({ of }) => of === "shares") ??
    (kinds.has("money") ? undefined : lines.find(({ of }) => of === undefined));
  if (bare.has("money") && ofMoney !== undefined && !money.has(ofMoney.exponent))
    money.set(ofMoney.exponent, ofMoney);
  return { money, wrong, shares: bare.has("shares") ? ofShares : undefined };
}

/**
 * The power of ten of each column that counts shares: that of the option, else that of the column's name.
 *
 * @param items columns by the item's name.
 */
export function shareExponents(
  items: ReadonlyMap<string, FileColumn>,
  kindOf: (item: string) => UnitKind,
  { volumeUnit: given }: ImportOptions,
): Map<string, number> {
  return new Map(
    [...items].flatMap(([item, { name }]): [string, number][] => {
      if (kindOf(item) !== "shares") return [];
      const unit = unitOfName(name);
      const said = unit === undefined || unit.of === "money" || unit.of === "lots" ? 0 : unit.exponent;
      return [[item, given === undefined || given === "lots" ? said : exponentOf(given)]];
    }),
  );
}

/** What is said of numbers of shares whose unit the names of their columns say. */
export function sharesFound(
  items: ReadonlyMap<string, FileColumn>,
  kindOf: (item: string) => UnitKind,
  { volumeUnit: given }: ImportOptions,
): string[] {
  if (given !== undefined) return [];
  return [...items].flatMap(([item, { name }]) => {
    const unit = kindOf(item) === "shares" ? unitOfName(name) : undefined;
    return unit === undefined || unit.exponent === 0
      ? []
      : [`${item} in units of "${unit.text}", as the name of its column says`];
  });
}

/** The power of ten of a unit. */
export function exponentOf(unit: keyof typeof UNIT_FACTORS): number {
  return Math.round(Math.log10(UNIT_FACTORS[unit]));
}

/**
 * Why a file cannot be read in its units, or in those that the user names.
 *
 * @param differs whether other files of the command say another unit, so that one option cannot be right for all of them.
 */
export function unitRefusal(
  { money, shares, wrong }: StatedUnits,
  { amountUnit: given, volumeUnit: ofShares }: ImportOptions,
  differs: boolean,
): FileVerdict["refusal"] {
  if (wrong !== undefined)
    return {
      reason: `its column "${wrong.column}" is in units of "${wrong.unit.text}", in which ${wrong.item} is not read`,
      hint: `write it in another unit, or name it as what it is: \`map: { ITEM: "${wrong.column}" }\``,
    };
  const said = [...money.values()];
  const [first, second] = said;
  if (second !== undefined && given !== "ones")
    return {
      reason: `it says that amounts are in units of ${said.map(({ text }) => `"${text}"`).join(" and ")}`,
      hint: 'write all of them in one unit, or add `amountUnit: "ones"` if the numbers are of single units',
    };
  if (first !== undefined && given === undefined && first.exponent !== 0) {
    const option = amountUnit(first);
    return {
      reason: `it says that amounts are in units of "${first.text}"`,
      hint: `${option === undefined ? "write them in another unit" : `add \`amountUnit: "${option}"\``}, or \`amountUnit: "ones"\` if the numbers are of single units`,
    };
  }
  if (differs && first !== undefined && given !== undefined && given !== "ones") {
    if (first.exponent !== exponentOf(given))
      return {
        reason: `it says that amounts are in units of "${first.text}", and \`amountUnit: "${given}"\` is for all files`,
        hint: "import the files of each unit by themselves",
      };
  }
  if (shares !== undefined && shares.exponent !== 0 && ofShares === undefined) {
    const option = volumeUnit(shares);
    return {
      reason: `it says that numbers of shares are in units of "${shares.text}"`,
      hint: `${option === undefined ? "write it into the names of their columns" : `add \`volumeUnit: "${option}"\``}, or \`volumeUnit: "shares"\` if the numbers are of single shares`,
    };
  }
  return undefined;
}

/** What the file says otherwise than the user, whose word counts. */
export function unitRemarks({ money }: StatedUnits, { amountUnit: given }: ImportOptions): string[] {
  if (given === undefined) return [];
  return [...money.values()]
    .filter(({ exponent }) => exponent !== exponentOf(given))
    .map(
      ({ text }) =>
        `it says that amounts are in units of "${text}"; they were read as \`amountUnit: "${given}"\``,
    );
}
