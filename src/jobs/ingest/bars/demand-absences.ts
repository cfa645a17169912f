import type { LandedPeriod } from "../../../market/period.js";
import type { Region } from "../../../market/regions.js";
import { areMany } from "../../../plan/absence/absence.js";
import { AbsentSymbols } from "../../../plan/absence/absent-symbols.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import { countSymbols } from "./explain-absences.js";
import { MinuteRegions } from "./minute-regions.js";

/** Symbols without bars in the responses to a demand: those that are requested again, and those that were absent twice. */
export class DemandAbsences {
  readonly symbols = new AbsentSymbols();
  readonly minutes: MinuteRegions;
  /** Symbols that traded up to now, and that a response with others lacked; and whether it lacked many of them. */
  readonly #silent = new Map<string, boolean>();

  constructor(period: LandedPeriod) {
    this.minutes = new MinuteRegions(period);
  }

  get isEmpty(): boolean {
    return this.symbols.isEmpty;
  }

  /** Whether a symbol traded up to now, and a response lacked it and few like it. */
  isOneOfFew(symbol: string): boolean {
    return this.#silent.get(symbol) === false;
  }

  /** Schedules a second request for absent symbols, and records those that are absent again. */
  take(page: Page, { absence, present }: ResponseVerdict): void {
    const { region, window, again } = page;
    const [group, isBarren] = [{ region, window, symbols: absence.unconfirmed }, present.length === 0];
    const isOneOfMany = areMany(countSymbols(region, absence.silent));
    for (const symbol of absence.silent) if (!this.#silent.has(symbol)) this.#silent.set(symbol, isOneOfMany);
    if (again === "some") this.symbols.seen(page, new Set(present));
    if (again === "some" && isBarren && this.minutes.mayLack(region)) {
      this.minutes.didNotCome(region);
      this.symbols.closeRegion(region);
    }
    if (group.symbols.length === 0) return;
    if (again !== undefined || (isBarren && this.minutes.lack(region))) this.symbols.addUnseen(group);
    else this.symbols.add(group, !isBarren);
  }

  /** The follow-up requests that are to be sent now. @param size most symbols of one request. */
  takeFollowUps(size: number): Page[] {
    return this.symbols.takeFollowUps(size, (region: Region) => this.minutes.mayLack(region));
  }
}
