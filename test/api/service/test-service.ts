import { onTestFinished } from "vitest";
import { type ConnectOptions, connect, type MarketService } from "../../../src/api/service/connect.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import {
  json,
  type Script,
  type ScriptedService,
  type Seen,
  startScripted,
} from "../../faults/service/scripted-service.js";
import { type Bars, barsOn } from "../../jobs/scripted-market.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const DAY = 86_400_000;
/** Midnight in Shanghai of Monday, 2026-11-02, and the last day of the tests. */
const FIRST = Date.parse("2026-11-01T16:00:00Z");

/** Midnights in Shanghai of the weekdays from 2026-11-02 to 2026-11-20. */
export const DAYS: readonly number[] = Array.from({ length: 19 }, (_, n) => FIRST + n * DAY).filter(
  (ms) => ![0, 6].includes(new Date(ms + DAY / 3).getUTCDay()),
);

/** Daily bars of the symbols of a request, the newest `cap` of each. */
export function daily(seen: Seen, cap = Number.POSITIVE_INFINITY): Record<string, Bars> {
  const most = Math.min(cap, Number(seen.query.get("count")));
  const bars = Object.entries(barsOn(DAYS, seen));
  return Object.fromEntries(
    bars.map(([symbol, columns]) => [
      symbol,
      Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values.slice(-most)])),
    ]),
  );
}

/** Symbols that the scripted service knows. */
export const KNOWN: readonly string[] = ["600519.SH", "000001.SZ", "000002.SZ"];

/** Responds to requests for instruments with those that are known, and to others as the given script does. */
function withInstruments(script: Script): Script {
  return (seen, response, index) => {
    if (seen.path !== "/v1/instruments") return script(seen, response, index);
    const { symbols } = JSON.parse(seen.body) as { symbols: string[] };
    const data = symbols
      .filter((symbol) => KNOWN.includes(symbol))
      .map((symbol) => ({ symbol, code: symbol.slice(0, 6), exchange: "SH", region: "CN", type: "stock" }));
    return json(response, 200, { data });
  };
}

/** Connects to a service whose state folder is deleted at the end of the test. */
export function connectForTest(url: string, options: ConnectOptions = {}): MarketService {
  const service = connect({
    url,
    apiKey: "secret-key",
    clock: virtualClock("2026-11-21T00:00:00Z"),
    environment: { XDG_STATE_HOME: temporaryFolder() },
    ...options,
  });
  onTestFinished(() => service.close());
  return service;
}

/** A scripted service of K-lines, and a connection to it. */
export async function scriptedKlines(
  script: Script,
): Promise<{ readonly scripted: ScriptedService; readonly service: MarketService }> {
  const scripted = await startScripted(withInstruments(script));
  return { scripted, service: connectForTest(scripted.url) };
}
