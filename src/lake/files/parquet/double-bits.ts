import { readRangeOf, replaceEnd } from "../../local/local-files.js";
import { readFooter, TRAILER_BYTES } from "../footer-digest.js";
import { CHUNK, ELEMENT, FILE, GROUP, META, STATISTICS, trailerOf } from "./parquet-fields.js";
import { PHYSICAL, schemaElement } from "./run-chunk.js";
import {
  bytesAt,
  decodeStruct,
  encodeStruct,
  i32,
  list,
  struct,
  structAt,
  structsAt,
  type ThriftStruct,
  withFields,
} from "./thrift.js";

/**
 * Columns of doubles that DuckDB has written as the integers which have their 64 bits. The bytes of both are the same, but
 * DuckDB compares integers for the bounds of row groups in a third of the time that it needs to compare doubles and to test
 * each for NaN. The bits of doubles are ordered as the doubles are where all of these are finite and none has a sign: the bounds of
 * the integers are then those of the doubles. Other columns are written as doubles.
 */

/** The bits of the infinite double: those of finite doubles without a sign are less. */
const INFINITY_BITS = 0x7ff0_0000_0000_0000n;

/** Whether the bits of all doubles of a column chunk are ordered as the doubles are, by its bounds. So they are in one without values. */
export function hasOrderedBits(meta: ThriftStruct): boolean {
  const statistics = meta.has(META.statistics) ? structAt(meta, META.statistics) : undefined;
  const [min, max] = [STATISTICS.min, STATISTICS.max].map((id) => statistics && bytesAt(statistics, id));
  if (min === undefined || max === undefined) return true;
  return Buffer.from(min).readBigInt64LE(0) >= 0n && Buffer.from(max).readBigInt64LE(0) < INFINITY_BITS;
}

/** What the footer says of such a column chunk, as that of doubles. */
export function metaOfDoubles(meta: ThriftStruct): ThriftStruct {
  return withFields(meta, { [META.type]: i32(PHYSICAL.double) });
}

/**
 * Changes a finished file, so that it says of some columns, whose integers have the bits of doubles, that they are doubles.
 *
 * @throws {RangeError} where a double has a sign or is not finite; the file is as it was.
 */
export async function declareDoubles(path: string, names: ReadonlySet<string>): Promise<void> {
  if (names.size === 0) return;
  const footer = await readFooter((range) => readRangeOf(path, range));
  const file = decodeStruct(footer.subarray(0, -TRAILER_BYTES));
  // The first element of the schema is its root.
  const [root, ...elements] = structsAt(file, FILE.schema) as [ThriftStruct, ...ThriftStruct[]];
  const ofColumns = elements.map((element) => {
    const name = nameOf(element);
    return names.has(name) ? schemaElement(name, "double") : struct(element);
  });
  const groups = structsAt(file, FILE.rowGroups).map((group) => {
    const chunks = structsAt(group, GROUP.columns).map((chunk, index) => {
      const [meta, name] = [structAt(chunk, CHUNK.metaData), nameOf(elements[index] as ThriftStruct)];
      if (!names.has(name)) return struct(chunk);
      if (!hasOrderedBits(meta))
        throw new RangeError(`column ${name}: has a number with a sign, or one that is not finite`);
      return struct(withFields(chunk, { [CHUNK.metaData]: struct(metaOfDoubles(meta)) }));
    });
    return struct(withFields(group, { [GROUP.columns]: list(chunks) }));
  });
  const declared = encodeStruct(
    withFields(file, { [FILE.schema]: list([struct(root), ...ofColumns]), [FILE.rowGroups]: list(groups) }),
  );
  await replaceEnd(path, footer.length, [declared, ...trailerOf(declared)]);
}

function nameOf(element: ThriftStruct): string {
  return Buffer.from(bytesAt(element, ELEMENT.name) ?? []).toString();
}
