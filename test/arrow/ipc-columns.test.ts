import { Field, Int32, Null, Struct, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { expect, test } from "vitest";
import { ipcBatches } from "../../src/arrow/ipc-columns.js";

test("columns of types that no field has are texts, and do not keep the others from being read", async () => {
  const structs = vectorFromArray([{ a: 1 }, null], new Struct([new Field("a", new Int32())]));
  const symbols = vectorFromArray(["AAPL.US", "MSFT.US"], new Utf8());
  const table = new Table({ symbol: symbols, structs, none: vectorFromArray([null, null], new Null()) });
  async function* bytes() {
    yield tableToIPC(table, "stream");
  }
  for await (const { batch, columns } of ipcBatches(bytes())) {
    expect(columns.map(({ type }) => type)).toEqual(["VARCHAR", "VARCHAR", "VARCHAR"]);
    expect(batch.schema.fields.map((_, i) => [...(batch.getChildAt(i) ?? [])])).toEqual([
      ["AAPL.US", "MSFT.US"],
      ['{"a":1}', null],
      [null, null],
    ]);
  }
  expect.assertions(2);
});
