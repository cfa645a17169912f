/** Most columns of a member, and most bytes before the numbers of a column, that the kernel can read. */
const MOST_COLUMNS = 16;
const MOST_BYTES = 32;

/** The common form of members whose values are objects with the same arrays of numbers: `{"a":[1],"b":[2]}`. */
export interface MemberPattern {
  readonly columns: readonly {
    readonly type: "double" | "int64";
    /** The bytes before the first number: after the last number of the previous column, or after the member's name. */
    readonly head: Uint8Array;
  }[];
}

/**
 * The pattern of members with these arrays, in this order, without blanks; undefined where the kernel cannot read them.
 */
export function memberPattern(
  columns: readonly { readonly name: string; readonly type: "double" | "int64" }[],
): MemberPattern | undefined {
  const heads = columns.map(({ name, type }, index) => ({
    type,
    head: Buffer.from(`${index === 0 ? ":{" : "],"}${JSON.stringify(name)}:[`),
  }));
  const isTaken = heads.length <= MOST_COLUMNS && heads.every(({ head }) => head.length <= MOST_BYTES);
  return isTaken && heads.length > 0 ? { columns: heads } : undefined;
}
