import { expect, test } from "vitest";
import { splitUnit, unitOfName, unitsOfLine } from "../../../../src/jobs/import/plan/named-unit.js";

test.each([
  ["总股本(万股)", "总股本", "shares", 4],
  ["总股本（股）", "总股本", "shares", 0],
  ["总股本(千股)", "总股本", "shares", 3],
  ["总股本[百万股]", "总股本", "shares", 6],
  ["总股本(亿股)", "总股本", "shares", 8],
  ["总股本_万股", "总股本", "shares", 4],
  ["Shares (millions of shares)", "Shares", "shares", 6],
  ["Volume (mn)", "Volume", undefined, 6],
  ["Volume (M)", "Volume", undefined, 6],
  ["Volume (000s)", "Volume", undefined, 3],
  ["Volume '000", "Volume", undefined, 3],
  ["Float shares '000", "Float shares", undefined, 3],
  ["Volume, in thousands", "Volume", undefined, 3],
  ["成交量(手)", "成交量", "lots", 0],
  ["成交量(万手)", "成交量", "lots", 4],
  ["Revenue (HK$'000)", "Revenue", "money", 3],
  ["Revenue RMB'000", "Revenue", "money", 3],
  ["Revenue (RMB’000)", "Revenue", "money", 3],
  ["Revenue (US$ mn)", "Revenue", "money", 6],
  ["Revenue US$ million", "Revenue", "money", 6],
  ["revenue_usd_mn", "revenue", "money", 6],
  ["Revenue ($m)", "Revenue", "money", 6],
  ["Revenue (in millions of USD, except per share data)", "Revenue", "money", 6],
  ["营业收入（单位：百万元）", "营业收入", "money", 6],
  ["营业收入(人民币百万元)", "营业收入", "money", 6],
  ["Revenue (bn)", "Revenue", undefined, 9],
  ["基本每股收益(元/股)", "基本每股收益", "money", 0],
] as const)("the name %s is %s, in %s of 10^%d", (name, rest, of, exponent) => {
  expect(splitUnit(name.normalize("NFKC"))).toMatchObject({ name: rest });
  expect(unitOfName(name)).toMatchObject({ exponent });
  expect(unitOfName(name)?.of).toBe(of);
});

test.each([
  "Total Revenue (TTM)",
  "cost_per_thousand",
  "data_000",
  "Millions",
  "roe(%)",
  "revenue m",
  "千",
  "",
])("the name %j has no unit", (name) => {
  expect(splitUnit(name)).toEqual({ name });
});

test.each([
  ["单位：元", "money", 0],
  ["单位：万元", "money", 4],
  ["单位：百万", undefined, 6],
  ["合并利润表,,单位：百万元 币种：人民币,", "money", 6],
  ["(USD in millions)", "money", 6],
  ["RMB'000", "money", 3],
  ["(HK$'000)", "money", 3],
  ["US$ million", "money", 6],
  ["bn", undefined, 9],
  ["Expressed in thousands of RMB", "money", 3],
  ["all amounts in HK$'000 unless stated", "money", 3],
  ["In millions, except number of shares, which are reflected in thousands", undefined, 6],
  ["千股", "shares", 3],
] as const)("the line %s says %s of 10^%d", (line, of, exponent) => {
  const [unit] = unitsOfLine(line);
  expect(unit?.of).toBe(of);
  expect(unit?.exponent).toBe(exponent);
});

test.each([
  "Report of 2024",
  "浙江万里扬股份有限公司",
  "it made 5 million dollars",
  "Top 10 Million Dollar firms",
  "",
])("the line %j says no unit", (line) => {
  expect(unitsOfLine(line)).toEqual([]);
});
