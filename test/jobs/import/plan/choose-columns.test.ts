import { expect, test } from "vitest";
import { chooseColumns } from "../../../../src/jobs/import/plan/choose-columns.js";
import { plainName } from "../../../../src/jobs/import/plan/field-names.js";

const OHLCV = ["open", "high", "low", "close", "volume"];

/** The chosen columns, by field. */
function chosen(
  table: string,
  columns: readonly string[],
  map: Record<string, string> = {},
): Record<string, string> {
  const { fields } = chooseColumns("x.csv", table, columns, map);
  return Object.fromEntries(
    [...fields].map(([field, { name, index }]) => {
      expect(columns[index]).toBe(name);
      return [field, name];
    }),
  );
}

test.each([
  [" Open ", "open"],
  ["<OPEN>", "open"],
  ["#date", "date"],
  ["Adj Close", "adj_close"],
  ["Vol.", "vol"],
  ["1. open", "1_open"],
  ["成交量(手)", "成交量"],
  ["成交额（万元）", "成交额"],
  ["Volume (in thousands)", "volume"],
  ["Close/Last", "close_last"],
  ["", ""],
])("the plain name of %j is %j", (name, plain) => {
  expect(plainName(name)).toBe(plain);
});

test("names say units", () => {
  const unitsOf = (field: "volume" | "amount", name: string) =>
    chooseColumns("x", "bars_1d", [name], { [field]: name }).units[field];
  expect(
    ["成交量(手)", "Volume (lots)", "成交量（万股）", "volume (000s)", "Volume '000", "volume"].map((name) =>
      unitsOf("volume", name),
    ),
  ).toEqual(["lots", "lots", "ten-thousands", "thousands", "thousands", undefined]);
  expect(
    ["成交额(万元)", "amount (in millions)", "成交额(亿元)", "amount(USD)", "amount (US$ bn)", "amount"].map(
      (name) => unitsOf("amount", name),
    ),
  ).toEqual(["ten-thousands", "millions", "hundred-millions", "ones", "billions", undefined]);
  const { units } = chooseColumns(
    "x",
    "bars_1d",
    ["date", "open", "high", "low", "close", "成交量(手)", "成交额(万元)"],
    {},
  );
  expect(units).toEqual({ volume: "lots", amount: "ten-thousands" });
});

test.each([
  ["bars_1d", "volume", "Volume (millions)", "millions"],
  ["bars_1d", "volume", "Volume (USD)", "USD"],
  ["bars_1d", "volume", "成交量(亿股)", "亿股"],
  ["bars_1d", "volume", "成交量(万手)", "万手"],
  ["bars_1d", "amount", "成交额(万股)", "万股"],
  ["bars_1d", "close", "close (thousands)", "thousands"],
  ["bars_1d", "open_interest", "持仓量(万手)", "万手"],
  ["instruments", "total_shares", "总股本(万元)", "万元"],
  ["instruments", "float_shares", "流通股本(手)", "手"],
  ["instruments", "limit_up", "limit_up (万元)", "万元"],
])("%s: a unit in which %s is not read is refused: %s", (table, field, name, unit) => {
  expect(() => chooseColumns("x.csv", table, [name], { [field]: name })).toThrow(
    `file x.csv: its column "${name}" is in units of "${unit}", in which ${field} is not read`,
  );
});

test("a company's name is a ticker only where no other column is", () => {
  expect(chosen("bars_1d", ["date", ...OHLCV, "Name"])).toMatchObject({ symbol: "Name" });
  expect(chosen("bars_1d", ["ticker", "date", ...OHLCV, "Name"])).toMatchObject({ symbol: "ticker" });
  expect(chosen("instruments", ["symbol", "name"])).toEqual({ symbol: "symbol", name: "name" });
});

test("a column with the exchange counts before one without", () => {
  expect(chosen("instruments", ["symbol", "name", "ts_code"])).toMatchObject({ symbol: "ts_code" });
  expect(chosen("bars_1d", ["symbol", "ts_code", "date", ...OHLCV])).toMatchObject({ symbol: "ts_code" });
  expect(chosen("income", ["symbol", "ts_code", "end_date"])).toMatchObject({ symbol: "ts_code" });
});

test("a time of day belongs to a date beside it; alone it is the time", () => {
  expect(chosen("bars_1m", ["date", "time", ...OHLCV])).toMatchObject({
    timestamp: "date",
    time_of_day: "time",
  });
  expect(chosen("bars_1m", ["日期", "时间", ...OHLCV])).toMatchObject({
    timestamp: "日期",
    time_of_day: "时间",
  });
  const alone = chosen("bars_1m", ["time", ...OHLCV]);
  expect(alone.timestamp).toBe("time");
  expect(alone).not.toHaveProperty("time_of_day");
  const whole = chosen("bars_1m", ["datetime", "time", ...OHLCV]);
  expect(whole.timestamp).toBe("datetime");
  expect(whole).not.toHaveProperty("time_of_day");
});

test("a mapped column counts before a known name, whatever it is named", () => {
  expect(chosen("bars_1d", ["date", ...OHLCV, "real close"], { close: "real close" })).toMatchObject({
    close: "real close",
  });
  expect(
    chosen("bars_1d", ["date", "open", "high", "low", "last", "vol"], { high: "low", low: "high" }),
  ).toMatchObject({
    high: "low",
    low: "high",
  });
});

test("two columns for one field, and a column that is not there, are refused", () => {
  expect(() => chooseColumns("x.csv", "bars_1d", ["date", ...OHLCV, "Close "], {})).toThrow(/has 2 columns/);
  expect(() => chooseColumns("x.csv", "bars_1d", ["date", "a", "a"], { close: "a" })).toThrow(
    /has 2 columns "a"/,
  );
  expect(() => chooseColumns("x.csv", "bars_1d", ["date", "closing"], { close: "closng" })).toThrow(
    expect.objectContaining({ hint: expect.stringContaining("did you mean closing?") }),
  );
});

test("columns without a use are named, with what can be done; those without a name are not", () => {
  const { unused } = chooseColumns(
    "x.csv",
    "bars_1d",
    ["", "date", ...OHLCV, "Adj Close", "split_coefficient", "vwap", "note"],
    {},
  );
  expect(unused.map(({ name, advice }) => [name, advice?.split(" ")[0]])).toEqual([
    ["Adj Close", "adjusted"],
    ["split_coefficient", "`barlake"],
    ["vwap", "can"],
    ["note", undefined],
  ]);
});

test.each([
  ["tushare", "bars_1d", "ts_code,trade_date,open,high,low,close,pre_close,change,pct_chg,vol,amount"],
  [
    "akshare (Eastmoney)",
    "bars_1d",
    "日期,股票代码,开盘,收盘,最高,最低,成交量,成交额,振幅,涨跌幅,涨跌额,换手率",
  ],
  ["akshare (Eastmoney) minutes", "bars_1m", "时间,开盘,收盘,最高,最低,成交量,成交额,均价"],
  ["Tongdaxin", "bars_1m", "日期,时间,开盘,最高,最低,收盘,成交量,成交额"],
  ["baostock", "bars_1d", "date,code,open,high,low,close,preclose,volume,amount,adjustflag"],
  ["Yahoo Finance", "bars_1d", "Date,Open,High,Low,Close,Adj Close,Volume"],
  [undefined, "bars_1d", "date,open,high,low,close,volume"],
  [undefined, "bars_1d", "日期,股票代码,开盘,最高,最低,收盘,成交量,成交额"],
] as const)("%s is the source of %s: %s", (source, table, header) => {
  expect(chooseColumns("x", table, header.split(","), {}).source?.name).toBe(source);
});
