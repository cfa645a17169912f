import { expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { KEY, landReference, landRows, serveForTest } from "../../serve/served-lake.js";
import { cases } from "../../sweep.js";
import { pythonHas, runModule } from "../python.js";

const ready = pythonHas("schemathesis");

/**
 * The document cannot say that one of two query parameters is required (`GET /v1/quotes`), and the service takes spaces
 * and empty entries in lists that the document does not have.
 */
const NOT_CHECKED = "positive_data_acceptance,negative_data_rejection";

test.skipIf(!ready)(
  "a fuzzer that reads the service's description finds no fault of the service",
  async () => {
    const bar = { open: 1, high: 1, low: 1, close: 1, volume: 1, amount: 1 };
    const { service } = await serveForTest(async (lake) => {
      await landRows(lake, BARS_1D, [{ ...bar, symbol: "0.SH", timestamp: Date.parse("2024-01-01T16:00Z") }]);
      await landRows(lake, BARS_1M, [{ ...bar, symbol: "0.SH", timestamp: Date.parse("2024-01-02T01:31Z") }]);
      const stock = { symbol: "0.SH", code: "0", exchange: "SH", region: "CN", type: "stock" };
      await landReference(lake, INSTRUMENTS, [stock]);
      await landReference(lake, EXCHANGES, [{ exchange: "SH", count: 1, region: "CN" }]);
      const universe = { id: "0", name: "0", category: "c", symbol_count: 1, region: "CN" };
      await landReference(lake, UNIVERSES, [universe]);
      await landReference(lake, UNIVERSE_MEMBERS, [{ id: "0", symbol: "0.SH", region: "CN" }]);
    });
    const { code, output } = await runModule(
      temporaryFolder(),
      "schemathesis.cli",
      "run",
      `${service.url}/openapi.json`,
      `--header=x-api-key: ${KEY}`,
      "--no-color",
      `--max-examples=${cases({ few: 12, more: 12, all: 25 })}`,
      "--seed=1",
      // How long it waits, and how long it takes to make an example, is the machine's.
      "--request-timeout=600",
      "--suppress-health-check=too_slow",
      `--exclude-checks=${NOT_CHECKED}`,
    );
    expect([code, output]).toEqual([0, expect.stringMatching(/[1-9]\d{2,} generated/)]);
  },
);
