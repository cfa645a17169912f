import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Broker, type Fill, type Quote, RULES } from "../../docs/examples/broker.js";
import { lowPriceToBook } from "../../docs/examples/low-price-to-book.js";
import { movingAverageCross } from "../../docs/examples/moving-average.js";
import type { Backtest } from "../../docs/examples/report.js";
import { parseTradingDate } from "../../src/core/time.js";
import type { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import { publish } from "../../src/lake/publish.js";
import { dayRange } from "../../src/market/sessions.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";

const DOCS = fileURLToPath(new URL("../../docs/", import.meta.url));
const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

const textOf = (path: string): string => readFileSync(join(DOCS, path), "utf8");

test("docs/backtests.md links each example's file", () => {
  const text = textOf("backtests.md");
  const files = readdirSync(join(DOCS, "examples")).filter((file) => file.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(3);
  for (const file of files) expect(text).toContain(`](examples/${file})`);
});

describe("the rules", () => {
  const quote = (more: Partial<Quote> = {}): Quote => ({
    date: "2025-01-02",
    price: 10,
    factor: 1,
    canBuy: true,
    canSell: true,
    ...more,
  });

  test("whole lots are bought, for no more than there is; costs are taken", () => {
    const broker = new Broker(10_000);
    expect(broker.buy("a", 1e9, quote())).toBe(true);
    const [fill] = broker.fills as [Fill];
    expect(fill.shares).toBe(900);
    expect(broker.cash).toBeCloseTo(10_000 - 900 * 10 * 1.0005 - 5, 8);
    expect(broker.buy("b", 1e9, quote())).toBe(false);
  });

  test("what was bought today is not sold today, and what is older is", () => {
    const broker = new Broker(1e6);
    broker.buy("a", 10_100, quote());
    expect(broker.sell("a", Number.POSITIVE_INFINITY, quote())).toBe(false);
    broker.buy("a", 20_200, quote({ date: "2025-01-03" }));
    expect(broker.sell("a", Number.POSITIVE_INFINITY, quote({ date: "2025-01-03" }))).toBe(true);
    expect(broker.fills.map(({ shares }) => shares)).toEqual([1000, 2000, -1000]);
    expect(broker.sell("a", Number.POSITIVE_INFINITY, quote({ date: "2025-01-06" }))).toBe(true);
    expect(broker.symbols).toEqual([]);
  });

  test("nothing is bought or sold where nobody is on the other side", () => {
    const broker = new Broker(1e6);
    expect(broker.buy("a", 10_100, quote({ canBuy: false }))).toBe(false);
    expect(broker.buy("a", 10_100, quote({ price: Number.NaN }))).toBe(false);
    broker.buy("a", 10_100, quote());
    const tomorrow = { date: "2025-01-03" };
    expect(broker.sell("a", 5_000, quote({ ...tomorrow, canSell: false }))).toBe(false);
    expect(broker.sell("a", 5_000, quote(tomorrow))).toBe(true);
    expect(broker.fills.at(-1)).toMatchObject({ shares: -500 });
  });

  test("a split changes the shares, and not what they are worth", () => {
    const broker = new Broker(1e6);
    broker.buy("a", 10_100, quote());
    expect(broker.worth("a", 10)).toBe(10_000);
    const after = quote({ date: "2025-01-03", price: 5, factor: 2 });
    expect(broker.worth("a", after.price * after.factor)).toBe(10_000);
    broker.sell("a", Number.POSITIVE_INFINITY, after);
    expect(broker.fills.at(-1)).toMatchObject({ shares: -2000 });
  });
});

/** A bar as it was traded, straight from the lake. */
interface RawBar {
  readonly symbol: string;
  readonly date: string;
  readonly open: number;
  readonly close: number;
  readonly prev_close: number | null;
  readonly traded: boolean;
  readonly tradable: boolean;
  readonly limit_up: boolean;
  readonly limit_down: boolean;
  readonly top: number | null;
  readonly bottom: number | null;
}

/** A corporate action. */
interface Told {
  readonly symbol: string;
  readonly date: string;
  readonly kind: string;
  readonly cash: number | null;
  readonly ratio: number | null;
  readonly price: number | null;
}

/** What a share is worth after the actions of a day. */
function exPrice(close: number, actions: readonly Told[]): number {
  let [worth, shares] = [close, 1];
  for (const { kind, cash, ratio, price } of actions) {
    worth -= kind === "spin_off" ? (ratio ?? 0) * (price ?? 0) : (cash ?? 0);
    if (kind === "split" || kind === "consolidation") shares += (ratio ?? 1) - 1;
    if (kind === "stock_dividend" || kind === "rights") shares += ratio ?? 0;
    if (kind === "rights") worth += (ratio ?? 0) * (price ?? 0);
  }
  return worth / shares;
}

let folder: string;
let lake: Lake;
let session: Session;
/** By symbol: its bars in order, each with the factor that the test works out itself. */
const history = new Map<string, (RawBar & { readonly factor: number })[]>();
const bars = new Map<string, RawBar & { readonly factor: number }>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barlake-backtests-"));
  lake = new Lake(join(folder, "lake"));
  // The daily bars of what `barlake sim --days 600 --end 2026-03-31` makes.
  const end = parseTradingDate("2026-03-31");
  const now = dayRange("US", end).end + 86_400_000;
  const market = simulateMarket({ seed: 1, symbols: 300, days: 600, end });
  await fillLake(lake, market, { minuteDays: 0, withActions: true, runId: "sim", now });
  await publish(lake);
  ({ session } = await openReader(lake, {}));
  const rows = await session.json<RawBar>(
    `SELECT symbol, trade_date::VARCHAR AS date, b.open, b.close, b.prev_close, b.volume > 0 AS traded,
       tradable, limit_up, limit_down, limit_up_price AS top, limit_down_price AS bottom
     FROM raw.bars_1d b JOIN daily_status s USING (symbol, trade_date)
     WHERE b.region = 'CN' ORDER BY symbol, trade_date`,
  );
  const told = new Map<string, Told[]>();
  for (const one of await session.json<Told>(
    "SELECT symbol, ex_date::VARCHAR AS date, kind, cash, ratio, price FROM corporate_actions ORDER BY ex_date",
  ))
    told.set(one.symbol, [...(told.get(one.symbol) ?? []), one]);
  for (const row of rows) {
    const before = history.get(row.symbol)?.at(-1);
    const own = told.get(row.symbol)?.filter(({ date }) => before && date > before.date && date <= row.date);
    const price = before && own && own.length > 0 ? exPrice(before.close, own) : row.prev_close;
    const step = before && price ? before.close / price : 1;
    const bar = { ...row, factor: (before?.factor ?? 1) * (Math.abs(step - 1) < 1e-9 ? 1 : step) };
    history.set(row.symbol, [...(history.get(row.symbol) ?? []), bar]);
    bars.set(`${row.symbol} ${row.date}`, bar);
  }
});
afterAll(() => {
  session?.close();
  rmSync(folder, { recursive: true, force: true });
});

const barAt = ({ symbol, date }: Fill): RawBar & { readonly factor: number } => {
  const bar = bars.get(`${symbol} ${date}`);
  if (bar === undefined) throw new Error(`${symbol} was filled on ${date}, when it had no bar`);
  return bar;
};

/** Works out from the fills alone what each day's cash and value must be. */
function recompute({ days, fills }: Backtest, cash: number): { cash: number; value: number }[] {
  const units = new Map<string, number>();
  const closes = new Map<string, number>();
  return days.map(({ date }) => {
    for (const fill of fills.filter((one) => one.date === date)) {
      cash -= fill.shares * fill.price + fill.commission + fill.stampDuty;
      units.set(fill.symbol, (units.get(fill.symbol) ?? 0) + fill.shares / barAt(fill).factor);
    }
    let value = cash;
    for (const [symbol, position] of units) {
      const bar = bars.get(`${symbol} ${date}`);
      if (bar?.traded) closes.set(symbol, bar.close * bar.factor);
      value += position * (closes.get(symbol) as number);
    }
    return { cash, value };
  });
}

function expectReconciled(backtest: Backtest, cash: number): void {
  for (const [i, day] of recompute(backtest, cash).entries()) {
    const expected = backtest.days[i] as Backtest["days"][number];
    expect(expected.cash / day.cash, expected.date).toBeCloseTo(1, 9);
    expect(expected.value / day.value, expected.date).toBeCloseTo(1, 9);
    expect(expected.cash).toBeGreaterThanOrEqual(0);
  }
}

/** What holds for every fill by the rules, of the price at which it was meant. */
function expectLawful({ fills }: Backtest, price: "open" | "close"): void {
  const positions = new Map<string, number>();
  const fresh = new Map<string, number>();
  for (const fill of fills) {
    const bar = barAt(fill);
    const key = `${fill.symbol} ${fill.date}`;
    const amount = Math.abs(fill.shares) * fill.price;
    expect(bar.tradable, key).toBe(true);
    expect(fill.commission).toBeCloseTo(Math.max(amount * 0.00025, 5), 6);
    const units = fill.shares / bar.factor;
    if (fill.shares > 0) {
      expect(fill.shares % 100).toBe(0);
      expect(fill.price).toBeCloseTo(bar[price] * 1.0005, 8);
      expect(fill.stampDuty).toBe(0);
      expect(bar[price], key).toBeLessThan(bar.top ?? Number.POSITIVE_INFINITY);
      fresh.set(key, (fresh.get(key) ?? 0) + units);
    } else {
      expect(fill.price).toBeCloseTo(bar[price] * 0.9995, 8);
      expect(fill.stampDuty).toBeCloseTo(amount * 0.0005, 6);
      expect(bar[price], key).toBeGreaterThan(bar.bottom ?? 0);
      const forSale = (positions.get(fill.symbol) ?? 0) - (fresh.get(key) ?? 0);
      expect(-units, `${key} is sold after the day on which it was bought`).toBeLessThanOrEqual(
        forSale * (1 + 1e-9),
      );
    }
    positions.set(fill.symbol, (positions.get(fill.symbol) ?? 0) + units);
  }
  expect(RULES.stampDuty("2023-08-27")).toBe(0.001);
}

describe("moving averages", () => {
  let backtest: Backtest;
  beforeAll(async () => {
    backtest = await movingAverageCross(lake);
  });

  test("cash and holdings reconcile each day, with an own computation from the bars", () => {
    expect(backtest.fills.length).toBeGreaterThan(100);
    expect(backtest.fills.some((fill) => fill.shares < 0 && barAt(fill).factor !== 1)).toBe(true);
    expectReconciled(backtest, 1_000_000);
  });

  test("every fill is lawful, at the open", () => {
    expect(backtest.fills.length).toBeGreaterThan(100);
    expectLawful(backtest, "open");
  });

  test("every fill follows from closes of earlier dates", () => {
    for (const fill of backtest.fills) {
      const all = (history.get(fill.symbol) ?? []).filter(({ date }) => date < fill.date);
      const mean = (days: number): number =>
        all.slice(-days).reduce((sum, { close, factor }) => sum + close * factor, 0) / days;
      const gap = mean(10) / mean(40) - 1;
      expect(Math.sign(gap), `${fill.symbol} ${fill.date}`).toBe(Math.sign(fill.shares));
    }
  });
});

describe("low price to book", () => {
  let backtest: Backtest;
  beforeAll(async () => {
    backtest = await lowPriceToBook(lake);
  });

  test("cash and holdings reconcile each day, with an own computation from the bars", () => {
    expect(backtest.fills.length).toBeGreaterThan(50);
    expectReconciled(backtest, 10_000_000);
  });

  test("every fill is lawful, at the close, and at no limit", () => {
    expectLawful(backtest, "close");
    for (const fill of backtest.fills)
      expect(fill.shares > 0 ? barAt(fill).limit_up : barAt(fill).limit_down).toBe(false);
  });

  test("what is bought was among the cheapest members at the last close of the month before", async () => {
    const dates = backtest.days.map(({ date }) => date);
    for (const date of new Set(backtest.fills.map((fill) => fill.date))) {
      const decided = dates[dates.indexOf(date) - 1] as string;
      expect(decided.slice(0, 7)).not.toBe(date.slice(0, 7));
      const cheap = await session.json<{ symbol: string }>(
        `SELECT symbol FROM daily_valuation v JOIN daily_status s USING (symbol, trade_date)
         SEMI JOIN members('SIM_CN_300', DATE '${decided}') USING (symbol)
         SEMI JOIN (SELECT symbol FROM raw.bars_1d WHERE trade_date <= DATE '${decided}' AND volume > 0
           GROUP BY symbol HAVING count(*) >= 60) USING (symbol)
         WHERE v.trade_date = DATE '${decided}' AND s.tradable AND price_to_book > 0 ORDER BY price_to_book`,
      );
      const fifth = cheap.slice(0, Math.max(1, Math.floor(cheap.length / 5))).map(({ symbol }) => symbol);
      for (const fill of backtest.fills.filter((one) => one.date === date && one.shares > 0))
        expect(fifth, `${fill.symbol} ${date}`).toContain(fill.symbol);
    }
  });
});

/** Runs a file as an installed user would: `barlake` is the built package, and not the project's own mapping. */
async function runInstalled(file: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(PROJECT, "test/docs/tsconfig.installed.json") };
  const options = { cwd: PROJECT, env, maxBuffer: 2 ** 27 };
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", file, ...args], options);
  return stdout;
}

test("docs/datasets.md's loop over batches runs", async () => {
  const [, code = ""] = /^```ts\n(import \{ openLake \}.*?)^```$/ms.exec(textOf("datasets.md")) ?? [];
  const place = mkdtempSync(join(PROJECT, "test/docs/run-"));
  try {
    writeFileSync(join(place, "loop.mts"), code.replace('"data/sim"', JSON.stringify(lake.location)));
    const lines = (await runInstalled(join(place, "loop.mts"), [])).trim().split("\n");
    expect(lines.length).toBeGreaterThan(10_000);
    expect(lines[0]).toMatch(/^2024-07-01 \d{6}\.(SH|SZ|BJ) \d+(\.\d+)?$/);
    expect(lines).toEqual([...lines].sort());
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test.each(["moving-average", "low-price-to-book"])(
  "%s runs as an installed user would run it, and prints what docs/backtests.md shows",
  async (name) => {
    const stdout = await runInstalled(join(DOCS, "examples", `${name}.ts`), [lake.location]);
    expect(stdout).toMatch(/^2026-\d\d-\d\d +\d{6}\.(SH|SZ|BJ) +-?[\d.]+ +[\d.]+ +[\d.]+$/m);
    expect(stdout).toMatch(/█/);
    expect(textOf("backtests.md")).toContain(`\`\`\`\n${stdout}\`\`\`\n`);
  },
);
