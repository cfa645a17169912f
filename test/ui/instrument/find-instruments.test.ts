import { expect, test } from "vitest";
import { findInstruments, listInstruments } from "../../../src/ui/instrument/instrument-lists.js";

const ROWS = [
  ["600519.SH", "贵州茅台", "Kweichow Moutai"],
  ["000001.SZ", "平安银行", "Ping An Bank"],
  ["00001.HK", "長和", "CK Hutchison"],
  ["601318.SH", "中国平安", "Ping An Insurance"],
  ["BANK.US", null, "Moutai Bank Inc."],
  ["000001.SH", "上证指数", null],
].map(([symbol, name, nameEn]) => {
  return {
    symbol: symbol as string,
    name: name ?? null,
    nameEn: nameEn ?? null,
    type: "stock",
    region: null,
  };
});

const find = (text: string, limit = 10): string[] =>
  findInstruments(listInstruments(ROWS), text, limit).map(({ symbol }) => symbol);

test("the symbol itself is first, then symbols that begin with the text", () => {
  expect(find("000001.sz")).toEqual(["000001.SZ"]);
  expect(find("000001")).toEqual(["000001.SH", "000001.SZ"]);
  expect(find("0000")).toEqual(["000001.SH", "000001.SZ", "00001.HK"]);
});

test("names and English names are found, words of them after their beginnings", () => {
  expect(find("平安")).toEqual(["000001.SZ", "601318.SH"]);
  expect(find("moutai")).toEqual(["BANK.US", "600519.SH"]);
  expect(find("ping an")).toEqual(["000001.SZ", "601318.SH"]);
  expect(find("bank")).toEqual(["BANK.US", "000001.SZ"]);
});

test("without a text, the first of the list; what nothing fits, nothing", () => {
  expect(find("", 2)).toEqual(["000001.SH", "000001.SZ"]);
  expect(find("zzz")).toEqual([]);
  expect(find("<img onerror=alert(1)>")).toEqual([]);
});

test("a result has the columns of the list alone", () => {
  expect(findInstruments(listInstruments(ROWS), "600519", 1)).toEqual([ROWS[0]]);
});
