import { UsageError } from "../../core/errors.js";
import { groupBy } from "../../core/group-by.js";
import { firstNames } from "../../core/text-order.js";
import { literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { EXCHANGE_REGION, REGION_NAMES, REGIONS, type Region } from "../../market/regions.js";
import { addDays } from "../../market/sessions.js";
import { exchangeOf, isSymbol, parseSymbol, regionOf } from "../../market/symbol.js";
import { instantOf, localDate } from "../../market/zone.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import type { Run } from "../run/run.js";

/** Called with symbols whose exchange is not known, so that they cannot be requested. @param list what they are. */
export type OnUnknown = (
  symbols: readonly string[],
  list: "members of universes" | "instruments of the lake",
) => void;

/**
 * The symbols of a run by region: the named symbols, or the members of universes, or the lake's instruments.
 *
 * @param types types of the lake's instruments.
 * @param options.regions the regions of named symbols and of members of universes. @default all
 * @param options.withoutExchanges exchange suffixes whose instruments and members are left out. @default none
 * @param options.withFormer whether to include instruments that left the lists and members that left the universes: the
 *   time before they left may not have been requested yet.
 * @param options.extra symbols of any type that are added if the lake knows them as instruments and no others were
 *   named.
 * @param options.onUnknown called with current members, or instruments of the regions, whose exchange is not known.
 * @throws {UsageError} where there are no such symbols, and for a symbol that cannot be requested.
 */
export async function chooseSymbols(
  session: Session,
  lake: Lake,
  regions: readonly Region[],
  types: readonly string[],
  {
    symbols,
    universes,
    regions: only,
    extra = [],
    withoutExchanges = [],
    withFormer = false,
    onUnknown,
  }: {
    readonly symbols?: readonly string[] | undefined;
    readonly universes?: readonly string[] | undefined;
    readonly regions?: readonly Region[] | undefined;
    readonly extra?: readonly string[];
    readonly withoutExchanges?: readonly string[] | undefined;
    readonly withFormer?: boolean;
    readonly onUnknown?: OnUnknown | undefined;
  },
): Promise<Map<Region, string[]>> {
  const isCurrent = "valid_to IS NULL";
  const isChosen = withFormer ? "true" : isCurrent;
  const isOfOthers = ({ symbol }: { readonly symbol: string }): boolean =>
    !withoutExchanges.includes(exchangeOf(symbol));
  if (symbols) return ofRegions(symbols.map(knownSymbol), only, "the named symbols");
  if (universes) {
    const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSE_MEMBERS)));
    const rows = await session.json<{ symbol: string; ids: string[] | null }>(
      `SELECT symbol, list(DISTINCT id) FILTER (${isCurrent}) AS ids FROM (${files})
       WHERE ${isChosen} AND id IN (SELECT unnest(${literalList(universes)})) GROUP BY symbol ORDER BY symbol`,
    );
    const found = new Set(rows.flatMap(({ ids }) => ids ?? []));
    const missing = universes.filter((id) => !found.has(id));
    if (missing.length > 0) {
      throw new UsageError(`universe ${missing.join(", ")}: the lake knows no members`, {
        hint: 'run the pipeline reference first, and see: barlake sql "from universes"',
      });
    }
    const requested = rows.filter(isOfOthers);
    const all = requested.map((row) => row.symbol);
    // Former members need not be asked for again and again.
    const current = requested.filter(({ ids }) => ids !== null).map(({ symbol }) => symbol);
    const unknown = current.filter((symbol) => regionOf(symbol) === undefined);
    if (unknown.length > 0) onUnknown?.(unknown, "members of universes");
    return ofRegions(all, only, `universe ${universes.join(", ")}`);
  }
  const instruments = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const found = await session.json<{ symbol: string; region: string; isCurrent: boolean }>(
    `SELECT symbol, region, ${isCurrent} AS "isCurrent" FROM (
       FROM (${instruments}) QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY valid_to DESC NULLS FIRST) = 1)
     WHERE ${isChosen}
       AND (type IN (SELECT unnest(${literalList(types)})) OR symbol IN (SELECT unnest(${literalList(extra)}))) ORDER BY symbol`,
  );
  const rows = found.filter(isOfOthers);
  if (rows.length === 0) {
    throw new UsageError("the lake knows no instruments to ask for", {
      hint: "run the pipeline reference first, or name symbols with `symbols`",
    });
  }
  const asked: ReadonlySet<string> = new Set(regions);
  const unknown = rows
    .filter((row) => row.isCurrent && asked.has(row.region) && regionOf(row.symbol) === undefined)
    .map(({ symbol }) => symbol);
  if (unknown.length > 0) onUnknown?.(unknown, "instruments of the lake");
  return byRegion(
    rows.map((row) => row.symbol),
    regions,
  );
}

/** Parses a symbol. @throws {UsageError} for a text that is not a symbol, and for an unknown exchange. */
function knownSymbol(text: string): string {
  const symbol = parseSymbol(text);
  if (regionOf(symbol) !== undefined) return symbol;
  throw new UsageError(`symbol ${symbol}: its exchange is not known`, {
    hint: `exchanges: ${Object.keys(EXCHANGE_REGION).join(", ")}`,
  });
}

/** Symbols by region. @throws {UsageError} where none is of the regions. */
function ofRegions(
  symbols: readonly string[],
  only: readonly Region[] | undefined,
  what: string,
): Map<Region, string[]> {
  const chosen = byRegion(symbols, only ?? REGION_NAMES);
  if (only === undefined || chosen.size > 0) return chosen;
  throw new UsageError(`${what}: none is of ${only.join(", ")}`, {
    hint: "leave the regions out to request all of them",
  });
}

function byRegion(symbols: readonly string[], regions: readonly Region[]): Map<Region, string[]> {
  const groups = groupBy(symbols, (symbol) => (isSymbol(symbol) ? regionOf(symbol) : undefined));
  return new Map(
    [...groups].filter((own): own is [Region, string[]] => own[0] !== undefined && regions.includes(own[0])),
  );
}

/**
 * When members left the universes, in epoch milliseconds: the end of the day of the first snapshot without them. A
 * symbol that is still a member of one of the universes is not included.
 */
export async function leavingTimes(
  session: Session,
  lake: Lake,
  universes: readonly string[],
): Promise<Map<string, number>> {
  const members = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSE_MEMBERS)));
  const rows = await session.json<{ symbol: string; at: number }>(
    `SELECT symbol, epoch_ms(max(valid_to))::DOUBLE AS at FROM (${members})
     WHERE id IN (SELECT unnest(${literalList(universes)})) GROUP BY symbol
     HAVING count(*) FILTER (valid_to IS NULL) = 0`,
  );
  return new Map(
    rows.flatMap(({ symbol, at }) => {
      const region = isSymbol(symbol) ? regionOf(symbol) : undefined;
      return region === undefined ? [] : [[symbol, endOfDay(at, region)]];
    }),
  );
}

/** The end, in epoch milliseconds, of the day in a region that contains an instant. */
export function endOfDay(at: number, region: Region): number {
  const { zone } = REGIONS[region];
  return instantOf(addDays(localDate(at, zone), 1), zone);
}

/**
 * Reports symbols that cannot be requested, because their exchange is not known.
 *
 * @param list what they are: members of universes, or instruments.
 */
export function noteUnknown(run: Run, symbols: readonly string[], list: string): void {
  const reason = `their exchanges are not known, so they are not requested: ${firstNames(symbols)}; to leave them out, name their exchanges in withoutExchanges of the pipeline`;
  run.log.failure({ dataset: undefined, request: list, reason, symbols: symbols.length });
}

/**
 * Reports universes that the service lists no more. Their members in the lake are those of the last snapshot with them,
 * and stay as they were.
 */
export async function noteEndedUniverses(run: Run, universes: readonly string[]): Promise<void> {
  const { session, lake } = run.context;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSES)));
  const ended = await session.json<{ id: string; since: string }>(
    `SELECT id, CAST(max(valid_to) AT TIME ZONE 'UTC' AS DATE)::VARCHAR AS since FROM (${files})
     WHERE id IN (SELECT unnest(${literalList(universes)})) GROUP BY id
     HAVING count(*) FILTER (valid_to IS NULL) = 0 ORDER BY id`,
  );
  for (const { id, since } of ended) {
    const reason = `the service has not listed this universe since ${since}, so its members in the lake do not change any more; leave it out, or name another one`;
    run.log.failure({ dataset: undefined, request: `universe ${id}`, reason, symbols: 0 });
  }
}
