import type { TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { inBatches } from "../request-units.js";
import type { Page } from "./older-bars.js";

/** Symbols of which nothing came in a window. */
export interface AbsentGroup {
  readonly region: Region;
  readonly window: TimeRange;
  readonly symbols: readonly string[];
}

/** What a response shows of the symbols that are not in it. */
export interface AbsenceVerdict {
  /** Absent: other symbols came, and just those that were asked for. */
  readonly believed: readonly string[];
  /** Nothing is settled of them. */
  readonly doubtful: readonly string[];
}

/**
 * Judges symbols that are not in a response. A response without any bar shows nothing of them, and neither does one with
 * bars of a symbol that nobody asked for: it can stand in the place of one that was.
 */
export function judgeAbsence(
  absent: readonly string[],
  { present, hasStrangers }: { readonly present: number; readonly hasStrangers: boolean },
): AbsenceVerdict {
  return present > 0 && !hasStrangers
    ? { believed: absent, doubtful: [] }
    : { believed: [], doubtful: absent };
}

/**
 * Symbols that are to be asked for a second time, as nothing came of them at first and nothing says why. Where nothing came
 * of a whole response, one request for some of the symbols is enough to see whether the window is empty for all.
 */
export class AbsentSymbols {
  /** Of responses without any bar, by region and window. */
  #empty = new Map<string, AbsentGroup>();
  /** To be asked for one and all. */
  #single = new Map<string, AbsentGroup>();
  /** Asked for twice, and nothing came. */
  readonly #unseen = new Map<string, AbsentGroup>();

  get isEmpty(): boolean {
    return this.#empty.size + this.#single.size === 0;
  }

  /** Takes the groups of which nothing came at the second time either. */
  takeUnseen(): AbsentGroup[] {
    const groups = [...this.#unseen.values()];
    this.#unseen.clear();
    return groups;
  }

  /** Adds symbols of which a response shows nothing. @param hasOthers whether it had bars of others. */
  add(group: AbsentGroup, hasOthers: boolean): void {
    addTo(hasOthers ? this.#single : this.#empty, group);
  }

  /** Adds symbols that were asked for often enough. */
  addUnseen(group: AbsentGroup): void {
    addTo(this.#unseen, group);
  }

  /**
   * Takes the requests that are to be sent now.
   *
   * @param size symbols of one request, at most. @param isProbed says of a region that one empty window tells of the others.
   */
  takeLooks(size: number, isProbed: (region: Region) => boolean): Page[] {
    const looks: Page[] = [];
    for (const { region, window, symbols } of this.#single.values()) {
      for (const some of inBatches(symbols, size))
        looks.push({ region, window, symbols: some, again: "all" });
    }
    const probed = new Set<Region>();
    for (const { region, window, symbols } of this.#empty.values()) {
      if (probed.has(region)) continue;
      looks.push({ region, window, symbols: spread(symbols, size), again: "some" });
      if (isProbed(region)) probed.add(region);
    }
    this.#single = new Map();
    return looks;
  }

  /** Takes note of the response to a look for some symbols of an empty window. @param present symbols that came. */
  seen(look: Page, present: ReadonlySet<string>): void {
    const key = keyOf(look);
    const group = this.#empty.get(key);
    if (group === undefined) return;
    this.#empty.delete(key);
    if (present.size === 0) return this.addUnseen(group);
    const asked = new Set(look.symbols);
    const symbols = group.symbols.filter((symbol) => !asked.has(symbol));
    if (symbols.length > 0) addTo(this.#single, { ...group, symbols });
  }

  /** Takes all empty windows of a region for seen: nothing comes of the region. */
  closeRegion(region: Region): void {
    for (const [key, group] of this.#empty) {
      if (group.region !== region) continue;
      this.#empty.delete(key);
      this.addUnseen(group);
    }
  }

  /** Gives up a look that failed: what it was for is left to the next run. */
  drop(look: Page): void {
    if (look.again === "some") this.#empty.delete(keyOf(look));
  }
}

function keyOf({ region, window }: Pick<AbsentGroup, "region" | "window">): string {
  return `${region} ${window.start} ${window.end}`;
}

function addTo(groups: Map<string, AbsentGroup>, group: AbsentGroup): void {
  const known = groups.get(keyOf(group))?.symbols ?? [];
  const symbols = [...new Set([...known, ...group.symbols])].sort();
  groups.set(keyOf(group), { ...group, symbols });
}

/** Up to `size` symbols, from everywhere in the list. */
function spread(symbols: readonly string[], size: number): string[] {
  if (symbols.length <= size) return [...symbols];
  return Array.from({ length: size }, (_, n) => symbols[Math.floor((n * symbols.length) / size)] as string);
}
