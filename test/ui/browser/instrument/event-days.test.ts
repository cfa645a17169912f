import { afterEach, expect, test, vi } from "vitest";
import { ACTION_KINDS } from "../../../../src/schema/actions.js";
import type { ActionReport, ExEventReport } from "../../../../src/ui/page-data.js";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The module in the language of a browser. */
function inBrowser(
  language: string,
): Promise<typeof import("../../../../src/ui/browser/instrument/event-days.js")> {
  vi.stubGlobal("navigator", { language });
  return import("../../../../src/ui/browser/instrument/event-days.js");
}

const action = (kind: ActionReport["kind"], values: Partial<ActionReport> = {}): ActionReport => ({
  day: "2024-06-10",
  exDate: "2024-06-10",
  kind,
  source: "company",
  cash: null,
  ratio: null,
  price: null,
  currency: null,
  announced: null,
  paid: null,
  ...values,
});
const event = (values: Partial<ExEventReport> = {}): ExEventReport => ({
  day: "2024-06-10",
  lastClose: 400,
  prevClose: null,
  factor: 4,
  witness: "actions",
  source: "company",
  ...values,
});

const ACTIONS = [
  action("cash_dividend", { cash: 0.33000001311302185, currency: "CNY" }),
  action("cash_dividend", { cash: 0.083 }),
  action("split", { ratio: 4 }),
  action("split", { ratio: 1.5 }),
  action("consolidation", { ratio: 0.1 }),
  action("consolidation", { ratio: 0.37094932794570923 }),
  action("stock_dividend", { ratio: 0.3 }),
  action("split", { ratio: 0.3333333 }),
  action("rights", { ratio: 0.2, price: 4.5, currency: "CNY" }),
  action("spin_off", { ratio: 0.05, price: 31 }),
  action("other"),
];

test("actions in words: cash without the noise of single precision, ratios as whole shares", async () => {
  const { actionText } = await inBrowser("en-GB");
  expect(ACTIONS.map(actionText)).toEqual([
    "Dividend 0.33 CNY",
    "Dividend 0.083",
    "Split 4 for 1",
    "Split 3 for 2",
    "Consolidation 1 for 10",
    "Consolidation 0.370949 for 1",
    "Stock dividend 3 for 10",
    "Split 1 for 3",
    "Rights 1 for 5 at 4.5 CNY",
    "Spin-off 1 for 20 at 31",
    "Other",
  ]);
});

test("in Chinese, splits name both numbers, and other shares are for ten, as announcements have them", async () => {
  const { actionText } = await inBrowser("zh-CN");
  expect(ACTIONS.map(actionText)).toEqual([
    "派息 0.33 CNY",
    "派息 0.083",
    "拆股 1拆4",
    "拆股 2拆3",
    "合股 10并1",
    "合股 1并0.370949",
    "送股 10送3",
    "拆股 3拆1",
    "配股 10配2 每股 4.5 CNY",
    "分拆 20得1 每股 31",
    "其他",
  ]);
});

test("an ex-date has its actions and its event; one may have only the other", async () => {
  const { eventDays, lettersOf } = await inBrowser("en-GB");
  const days = eventDays({
    exEvents: [event({ day: "2024-03-01" }), event()],
    actions: [action("split"), action("cash_dividend"), action("rights", { day: "2024-12-02" })],
  });
  expect(days.map(({ day, actions, event: found }) => [day, actions.length, found !== undefined])).toEqual([
    ["2024-03-01", 0, true],
    ["2024-06-10", 2, true],
    ["2024-12-02", 1, false],
  ]);
  expect(days.map((day) => lettersOf([day]))).toEqual(["E", "DS", "R"]);
  expect(lettersOf(days.slice(1))).toBe("DRS");
});

test("every kind has a letter and a name", async () => {
  const { actionText, lettersOf } = await inBrowser("en-GB");
  for (const kind of ACTION_KINDS) {
    expect(lettersOf([{ day: "", actions: [action(kind)], event: undefined }])).toMatch(/^[DSRE]$/);
    expect(actionText(action(kind))).toMatch(/^[A-Z][a-z -]+$/);
  }
});

test("by what a factor is known is said where the actions of the day do not say it", async () => {
  const { witnessText } = await inBrowser("en-GB");
  const of = (found: ExEventReport | undefined, ...actions: ActionReport[]): string | undefined =>
    witnessText({ day: "2024-06-10", actions, event: found });
  expect(of(event(), action("split"))).toBeUndefined();
  expect(of(event({ source: "other" }), action("split"))).toBe("factor from the actions of other");
  expect(of(event())).toBe("factor from the actions of company");
  expect(of(event({ witness: "factor", source: "LEAN" }), action("split"))).toBe("factor of LEAN");
  const stated = event({ witness: "prev_close", source: null, prevClose: 98.5, lastClose: 100 });
  expect(of(stated, action("cash_dividend"))).toBe("factor from the stated previous close");
  expect(of(stated)).toBe("Close 100.00 → 98.50");
  expect(of(undefined, action("cash_dividend"))).toBe("prices are not adjusted by it");
});
