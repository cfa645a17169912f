import type { TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { inBatches } from "../request-units.js";
import type { Page } from "./older-bars.js";

/** Symbols without a bar in a window. */
export interface AbsentGroup {
  readonly region: Region;
  readonly window: TimeRange;
  readonly symbols: readonly string[];
}

/** What a response shows about requested symbols that it does not contain. */
export interface AbsenceVerdict {
  /** Symbols that are absent: the response had other symbols, and only requested ones. */
  readonly confirmed: readonly string[];
  /** Symbols about which the response shows nothing. */
  readonly unconfirmed: readonly string[];
  /** Those of the unconfirmed symbols that the response would confirm if they had not traded up to now. */
  readonly silent: readonly string[];
}

/**
 * Judges symbols that are not in a response. A response without any bar shows nothing about them. Neither does a
 * response with bars of a symbol that was not requested: that symbol may be in the place of a requested one. Nor is one
 * response enough for a symbol that traded up to the requested time.
 *
 * @param traded symbols that traded up to the requested time.
 */
export function judgeAbsence(
  absent: readonly string[],
  {
    present,
    hasStrangers,
    traded,
  }: {
    readonly present: number;
    readonly hasStrangers: boolean;
    readonly traded?: ReadonlySet<string> | undefined;
  },
): AbsenceVerdict {
  if (present === 0 || hasStrangers) return { confirmed: [], unconfirmed: absent, silent: [] };
  const silent = absent.filter((symbol) => traded?.has(symbol) === true);
  const confirmed = absent.filter((symbol) => traded?.has(symbol) !== true);
  return { confirmed, unconfirmed: silent, silent };
}

/**
 * Symbols that are requested a second time, because they had no bars for no known reason. If a whole response was
 * empty, one request for some of its symbols is sufficient to see whether the window is empty for all.
 */
export class AbsentSymbols {
  /** Groups of responses without any bar, by region and window. */
  #empty = new Map<string, AbsentGroup>();
  /** Symbols of which all are requested again. */
  #single = new Map<string, AbsentGroup>();
  /** Symbols that had no bars after two requests. */
  readonly #unseen = new Map<string, AbsentGroup>();

  get isEmpty(): boolean {
    return this.#empty.size + this.#single.size === 0;
  }

  /** Removes and returns the groups that had no bars after the second request. */
  takeUnseen(): AbsentGroup[] {
    const groups = [...this.#unseen.values()];
    this.#unseen.clear();
    return groups;
  }

  /** Adds symbols that a response lacks. @param hasOthers whether the response had bars of other symbols. */
  add(group: AbsentGroup, hasOthers: boolean): void {
    addTo(hasOthers ? this.#single : this.#empty, group);
  }

  /** Adds symbols that need no further request. */
  addUnseen(group: AbsentGroup): void {
    addTo(this.#unseen, group);
  }

  /**
   * Removes and returns the requests that are to be sent now.
   *
   * @param size most symbols of one request.
   * @param isProbed whether one empty window of a region is enough to judge its other empty windows.
   */
  takeFollowUps(size: number, isProbed: (region: Region) => boolean): Page[] {
    const followUps: Page[] = [];
    for (const { region, window, symbols } of this.#single.values()) {
      for (const some of inBatches(symbols, size))
        followUps.push({ region, window, symbols: some, again: "all" });
    }
    const probed = new Set<Region>();
    for (const { region, window, symbols } of this.#empty.values()) {
      if (probed.has(region)) continue;
      followUps.push({ region, window, symbols: spread(symbols, size), again: "some" });
      if (isProbed(region)) probed.add(region);
    }
    this.#single = new Map();
    return followUps;
  }

  /** Records the response to a request for some symbols of an empty window. @param present symbols with bars in it. */
  seen(followUp: Page, present: ReadonlySet<string>): void {
    const key = keyOf(followUp);
    const group = this.#empty.get(key);
    if (group === undefined) return;
    this.#empty.delete(key);
    if (present.size === 0) return this.addUnseen(group);
    const asked = new Set(followUp.symbols);
    const symbols = group.symbols.filter((symbol) => !asked.has(symbol));
    if (symbols.length > 0) addTo(this.#single, { ...group, symbols });
  }

  /** Counts all empty windows of a region as requested twice, because the region has no bars. */
  closeRegion(region: Region): void {
    for (const [key, group] of this.#empty) {
      if (group.region !== region) continue;
      this.#empty.delete(key);
      this.addUnseen(group);
    }
  }

  /** Drops a follow-up request that failed. Its symbols are left to the next run. */
  drop(followUp: Page): void {
    if (followUp.again === "some") this.#empty.delete(keyOf(followUp));
  }
}

/** A text that is the same for equal regions and windows. */
export function keyOf({ region, window }: Pick<AbsentGroup, "region" | "window">): string {
  return `${region} ${window.start} ${window.end}`;
}

function addTo(groups: Map<string, AbsentGroup>, group: AbsentGroup): void {
  const known = groups.get(keyOf(group))?.symbols ?? [];
  const symbols = [...new Set([...known, ...group.symbols])].sort();
  groups.set(keyOf(group), { ...group, symbols });
}

/** Up to `size` symbols, evenly distributed over the list. */
function spread(symbols: readonly string[], size: number): string[] {
  if (symbols.length <= size) return [...symbols];
  return Array.from({ length: size }, (_, n) => symbols[Math.floor((n * symbols.length) / size)] as string);
}
