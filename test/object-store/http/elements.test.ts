import fc from "fast-check";
import { expect, test } from "vitest";
import { childrenOf, parseListPage, parseXml, textOf } from "../../../src/object-store/http/list-page.js";

test("a document is read with its texts, entities decoded and prefixes left out", () => {
  const root = parseXml(
    '<?xml version="1.0"?>\n<s:A xmlns:s="urn:x"><s:B>&lt;&amp;&#228;&#x4EAC;&quot;</s:B><B/><C><![CDATA[<raw>&]]></C></s:A>',
  );
  expect(root.name).toBe("A");
  expect(childrenOf(root, "B").map(({ text }) => text)).toEqual(['<&ä京"', ""]);
  expect([textOf(root, "C"), textOf(root, "D")]).toEqual(["<raw>&", undefined]);
});

test.each([
  ["cut short", "<A><B>1</B>", "Unclosed root tag"],
  ["empty", "", "no element"],
  ["of another kind", "not found", "Non-whitespace before first tag"],
  ["with an entity that it defines", '<!DOCTYPE A [<!ENTITY x "y">]><A>&x;</A>', "document type"],
  ["with an unknown entity", "<A>&nbsp;</A>", "Invalid character entity"],
  ["with crossed elements", "<A><B></A></B>", "Unexpected close tag"],
  ["with two roots", "<A/><B/>", "elements after its end"],
  ["too deep", "<A>".repeat(17) + "</A>".repeat(17), "more than 16 deep"],
])("a document is refused: %s", (_, document, message) => {
  expect(() => parseXml(document)).toThrow(message);
});

const escaped = (text: string): string => text.replaceAll(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);

test("any key comes back from a list, encoded or not", () => {
  // XML has no way to write control characters.
  const key = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
    .filter((text) => !/\p{C}/u.test(text));
  fc.assert(
    fc.property(fc.array(key, { maxLength: 5 }), fc.boolean(), (keys, isEncoded) => {
      const written = (text: string): string =>
        escaped(isEncoded ? encodeURIComponent(text).replaceAll("%20", "+").replaceAll("%2F", "/") : text);
      const contents = keys.map(
        (one, n) =>
          `<Contents><Key>${written(one)}</Key><LastModified>2026-11-21T00:00:0${n}.999Z</LastModified><Size>${n}</Size></Contents>`,
      );
      const page = parseListPage(
        `<ListBucketResult>${isEncoded ? "<EncodingType>url</EncodingType>" : ""}<IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`,
      );
      expect(page).toEqual({
        objects: keys.map((one, n) => ({ key: one, size: n, modifiedAt: Date.UTC(2026, 10, 21, 0, 0, n) })),
        prefixes: [],
        next: undefined,
      });
    }),
  );
});

test.each([
  ["<Error><Code>X</Code></Error>", "its element is Error"],
  ["<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "names no continuation"],
  ["<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>", "has no Size"],
  ["<ListBucketResult><Contents>", "Unclosed root tag"],
  ["<html><body>", "Unclosed root tag"],
])("a list that is not one, or not complete, is refused: %s", (document, message) => {
  expect(() => parseListPage(document)).toThrow(message);
});
