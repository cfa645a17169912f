import { expect, test } from "vitest";
import { qlibFolder, qlibInstrument } from "../../../src/dataset/formats/qlib.js";

test.each([
  ["600519.SH", "SH600519", "sh600519"],
  ["000001.SZ", "SZ000001", "sz000001"],
  ["00700.HK", "HK00700", "hk00700"],
  ["IF2612.CFX", "CFXIF2612", "cfxif2612"],
  ["AAPL.US", "AAPL", "aapl"],
  ["BRK.B.US", "BRK.B", "brk.b"],
  ["PRN.US", "PRN", "_qlib_prn"],
  ["COM1.US", "COM1", "_qlib_com1"],
  ["COM.US", "COM", "com"],
  ["NA.US", "NA.US", "na.us"],
  ["NULL.US", "NULL.US", "null.us"],
])("%s is %s in qlib's lists, %s among its folders", (symbol, instrument, folder) => {
  expect([qlibInstrument(symbol), qlibFolder(symbol)]).toEqual([instrument, folder]);
});
