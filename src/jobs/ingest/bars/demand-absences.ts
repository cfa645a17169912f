import type { TimeRange } from "../../../core/time.js";
import type { LandedPeriod } from "../../../market/period.js";
import type { Region } from "../../../market/regions.js";
import { areMany } from "../../../plan/absence/absence.js";
import { AbsentSymbols, keyOf } from "../../../plan/absence/absent-symbols.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import { countSymbols } from "./explain-absences.js";
import { MinuteRegions } from "./minute-regions.js";

/** Symbols without bars in the responses to a demand: those that are requested again, and those that were absent twice. */
export class DemandAbsences {
  readonly symbols = new AbsentSymbols();
  readonly minutes: MinuteRegions;
  readonly wasEmpty: (symbol: string, window: TimeRange) => boolean;
  /** How many like it the first response about a window lacked, for each symbol that had traded up to the window. */
  readonly #silent = new Map<string, "few" | "many">();

  /**
   * @param wasEmpty whether all of a window that no response has settled for a symbol was requested by an earlier run, and
   *   nothing came.
   */
  constructor(period: LandedPeriod, wasEmpty: (symbol: string, window: TimeRange) => boolean) {
    this.minutes = new MinuteRegions(period);
    this.wasEmpty = wasEmpty;
  }

  get isEmpty(): boolean {
    return this.symbols.isEmpty;
  }

  /** Whether a symbol traded up to a requested window, and a response with others lacked it and few like it. */
  isOneOfFew(symbol: string, region: Region, window: TimeRange): boolean {
    return this.#silent.get(keyOfSymbol(symbol, { region, window })) === "few";
  }

  /**
   * Schedules a second request for absent symbols, and records those that are absent again. An empty window that an earlier
   * run requested has had its second request.
   */
  take(page: Page, { absence, present }: Pick<ResponseVerdict, "absence" | "present">): void {
    const { region, window, again } = page;
    const [group, isBarren] = [{ region, window, symbols: absence.unconfirmed }, present.length === 0];
    const like = areMany(countSymbols(region, absence.silent)) ? "many" : "few";
    for (const symbol of absence.silent) {
      const key = keyOfSymbol(symbol, page);
      if (!this.#silent.has(key)) this.#silent.set(key, like);
    }
    if (again === "some") this.symbols.seen(page, new Set(present));
    if (again === "some" && isBarren && this.minutes.mayLack(region)) {
      this.minutes.didNotCome(region);
      this.symbols.closeRegion(region);
    }
    if (group.symbols.length === 0) return;
    const isSecond =
      again !== undefined ||
      (isBarren && (this.minutes.lack(region) || group.symbols.every((one) => this.wasEmpty(one, window))));
    if (isSecond) this.symbols.addUnseen(group);
    else this.symbols.add(group, !isBarren);
  }

  /** The follow-up requests that are to be sent now. @param size most symbols of one request. */
  takeFollowUps(size: number): Page[] {
    return this.symbols.takeFollowUps(size, (region: Region) => this.minutes.mayLack(region));
  }
}

function keyOfSymbol(symbol: string, page: Pick<Page, "region" | "window">): string {
  return `${keyOf(page)} ${symbol}`;
}
