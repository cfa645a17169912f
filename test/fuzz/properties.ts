import assert from "node:assert/strict";
import fc from "fast-check";
import { BarlakeError, WireError } from "../../src/core/errors.js";
import { type DecodedKlines, decodeKlines } from "../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../src/wire/decode/kline-buffers.js";
import { encodeKlines } from "../../src/wire/encode/encode-klines.js";
import { anyChanges, anyDocument, changed } from "../wire/any-json.js";
import { anyBars, barsOf, columnsOf } from "../wire/any-kline-columns.js";
import { anyKlineDocument, type KlineDocument } from "../wire/any-kline-document.js";
import { anyCuts, cutAt, utf8 } from "../wire/chunks.js";
import { readJson } from "../wire/decode/json/read-json.js";
import { issueText, type SlowResponse, slowKlines } from "../wire/decode/slow-klines.js";

/** Something that holds for all inputs. */
export interface Property {
  readonly name: string;
  readonly property: fc.IAsyncProperty<[never]>;
}

/** Buffers that hold what earlier responses left in them. */
const pool = new KlineBufferPool();

function property<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  check: (input: T) => void | Promise<void>,
): Property {
  return {
    name,
    property: fc.asyncProperty(inputs, async (input) => check(input)) as unknown as Property["property"],
  };
}

/** What must hold between bytes and columns: run briefly in the tests, and by `npm run fuzz` for a given time. */
export const PROPERTIES: readonly Property[] = [
  property(
    "any document, however cut, is what JSON.parse reads of it",
    fc.tuple(anyDocument, anyCuts),
    ([text, cuts]) => assert.deepStrictEqual(readJson(cutAt(utf8(text), cuts)), JSON.parse(text)),
  ),
  property(
    "any document with changed bytes is refused exactly where JSON.parse refuses it",
    fc.tuple(anyDocument, anyChanges, anyCuts),
    ([text, changes, cuts]) => {
      const bytes = changed(utf8(text), changes);
      assert.deepStrictEqual(scanned(bytes, cuts), parsed(bytes));
    },
  ),
  property(
    "any K-line response, however cut, is what the slow reader reads of it",
    fc.tuple(anyKlineDocument, anyCuts),
    async ([{ text, expectation }, cuts]) => compareKlines(utf8(text), expectation, cuts),
  ),
  property(
    "any K-line response with changed bytes is what the slow reader reads of it, or both refuse it",
    fc.tuple(anyKlineDocument, anyChanges, anyCuts),
    async ([{ text, expectation }, changes, cuts]) =>
      compareKlines(changed(utf8(text), changes), expectation, cuts),
  ),
  property(
    "any columns are what is decoded of what they are encoded to",
    fc.tuple(anyBars, anyCuts),
    async ([bars, cuts]) => {
      const columns = columnsOf(bars);
      using response = await decodeKlines(cutAt(encodeKlines(columns, "map"), cuts), { shape: "map" }, pool);
      assert.deepStrictEqual(response.issues.stored, []);
      assert.deepStrictEqual(barsOf(response.columns), barsOf(columns));
    },
  ),
  property(
    "what is encoded of a decoded response parses to the same bars",
    anyKlineDocument,
    async ({ text, expectation }) => {
      const first = await decoded(utf8(text), expectation, []);
      if (first === "refused") return;
      const again = await decoded(encodeKlines(first.columns, "map"), { shape: "map" }, []);
      assert.notEqual(again, "refused");
      assert.deepStrictEqual(barsOf((again as DecodedKlines).columns), barsOf(first.columns));
    },
  ),
];

function scanned(bytes: Uint8Array, cuts: readonly number[]): { value: unknown } | "refused" {
  try {
    return { value: readJson(cutAt(bytes, cuts)) };
  } catch (error) {
    if (error instanceof WireError) return "refused";
    throw error;
  }
}

function parsed(bytes: Uint8Array): { value: unknown } | "refused" {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { value: JSON.parse(text) as unknown };
  } catch {
    return "refused";
  }
}

async function compareKlines(
  bytes: Uint8Array,
  expectation: KlineDocument["expectation"],
  cuts: readonly number[],
): Promise<void> {
  const response = await decoded(bytes, expectation, cuts, pool);
  const found = response === "refused" ? response : plain(response);
  if (response !== "refused") response[Symbol.dispose]();
  assert.deepStrictEqual(found, slowKlines(bytes, expectation));
}

async function decoded(
  bytes: Uint8Array,
  expectation: KlineDocument["expectation"],
  cuts: readonly number[],
  buffers?: KlineBufferPool,
): Promise<DecodedKlines | "refused"> {
  try {
    return await decodeKlines(cutAt(bytes, cuts), expectation, buffers);
  } catch (error) {
    if (error instanceof BarlakeError) return "refused";
    throw error;
  }
}

function plain({ columns, absent, unusable, received, issues }: DecodedKlines): SlowResponse {
  return {
    bars: barsOf(columns),
    symbols: [...columns.symbols],
    absent,
    unusable,
    received: Object.fromEntries(received),
    issues: issues.stored.map(issueText).sort(),
  };
}
