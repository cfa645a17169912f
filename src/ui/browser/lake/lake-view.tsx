import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { regionOf } from "../../../market/symbol.js";
import type { CoverageReport, LakeReport, MarketReport, QuoteReport, RunReport } from "../../page-data.js";
import { addressOf } from "../address.js";
import { risingClass } from "../colours.js";
import { FaultBox, Loaded, Missing } from "../fault-box.js";
import { useJson, type Waiting } from "../fetch-data.js";
import { bytes, change, compactNumber, count, instant, price } from "../formats.js";
import { useShownState, useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
import { type TextName, text, translated } from "../texts.js";
import { useWatched } from "../watched.js";
import { CoverageMap } from "./coverage-map.js";
import { RunList } from "./run-list.js";

/** The newest landed session of each region. */
function MarketCards({ markets }: { readonly markets: readonly MarketReport[] }) {
  return (
    <div class="cards">
      {markets.map((market) => (
        <MarketCard key={market.region} market={market} />
      ))}
      <Watched />
    </div>
  );
}

function MarketCard({ market }: { readonly market: MarketReport }) {
  const { region, day, bars, up, down, unchanged, unknown, open, status, traded } = market;
  const known = up + down + unchanged;
  const share = (part: number): string => `flex-grow:${part}`;
  return (
    <article class={`card ${risingClass(region)}`}>
      <header>
        <h3>{region}</h3>
        <span class={status === "closed" ? "state" : "state live"}>{text(status)}</span>
        <p class="quiet">
          {text("session")} <b>{day}</b> · {count(bars)} {text(bars === 1 ? "bar" : "bars")},{" "}
          {open === 0 ? text("allFinal") : `${count(open)} ${text("notFinal")}`}
        </p>
      </header>
      {known > 0 && (
        <>
          <div class="breadth" aria-hidden="true">
            <i class="up" style={share(up)} />
            <i class="flat" style={share(unchanged)} />
            <i class="down" style={share(down)} />
          </div>
          <p class="figures-line">
            <span class="up">
              {count(up)} {text("up")}
            </span>
            <span class="quiet">
              {count(unchanged)} {text("unchanged")}
            </span>
            <span class="down">
              {count(down)} {text("down")}
            </span>
          </p>
        </>
      )}
      {unknown > 0 && (
        <p class="quiet">
          {count(unknown)} {text("unknown")}
        </p>
      )}
      {traded.length > 0 && <Quotes caption={text("mostTraded")} quotes={traded} />}
    </article>
  );
}

/** Instruments with their last price, its change and the traded amount. */
function Quotes({
  caption,
  quotes,
  remove,
}: {
  readonly caption: string;
  readonly quotes: readonly QuoteReport[];
  readonly remove?: (symbol: string) => void;
}) {
  return (
    <table class="plain">
      <caption>{caption}</caption>
      <tbody>
        {quotes.map((one) => (
          <tr key={one.symbol} class={risingClass(regionOf(one.symbol) ?? null)}>
            <th scope="row">
              <span class="named">
                <Link
                  to={addressOf(`/instrument/${encodeURIComponent(one.symbol)}`)}
                  title={one.name ?? one.symbol}
                >
                  {one.name ?? one.symbol}
                </Link>
                {one.name !== null && <small>{one.symbol}</small>}
              </span>
            </th>
            <td class="n">{price(one.close)}</td>
            <td class={`n ${(one.change ?? 0) > 0 ? "up" : (one.change ?? 0) < 0 ? "down" : ""}`}>
              {change(one.change)}
            </td>
            {remove === undefined ? (
              <td class="n quiet" title={text("amount")}>
                {compactNumber(one.amount)}
              </td>
            ) : (
              <>
                <td class="n quiet">{one.day}</td>
                <td class="n">
                  <button
                    type="button"
                    class="close"
                    aria-label={`${one.symbol}: ${text("close")}`}
                    onClick={() => remove(one.symbol)}
                  >
                    ×
                  </button>
                </td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The watched instruments. One without a daily bar is listed by its symbol. */
function Watched() {
  const [watched, toggle] = useWatched();
  const address = useStateAddress("quotes", { symbols: watched.join(",") });
  const { value, fault } = useJson<{ quotes: QuoteReport[] }>(watched.length === 0 ? undefined : address);
  if (watched.length === 0) return null;
  if (fault !== undefined) return <FaultBox fault={fault} />;
  const quotes = (value?.quotes ?? []).filter(({ symbol }) => watched.includes(symbol));
  const absent = watched.filter((symbol) => !quotes.some((one) => one.symbol === symbol));
  return (
    <article class="card">
      <Quotes caption={text("watched")} quotes={quotes} remove={toggle} />
      {value !== undefined &&
        absent.map((symbol) => (
          <p key={symbol} class="quiet">
            {symbol}: {text("noTrade")}{" "}
            <button
              type="button"
              class="close"
              aria-label={`${symbol}: ${text("close")}`}
              onClick={() => toggle(symbol)}
            >
              ×
            </button>
          </p>
        ))}
    </article>
  );
}

function TableList({ report: { tables, freeBytes, knownAt } }: { readonly report: LakeReport }) {
  const all = tables.reduce((sum, table) => sum + table.bytes, 0);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const most = Math.max(...tables.map((table) => table.bytes), 1);
  return (
    <>
      {knownAt !== null && <p class="quiet">{text("asStored")}</p>}
      <Table
        of="tables"
        head={[
          ...(["table", "rows", "size", "files", "version", "span"] as const).map(text),
          `${text("changed")} (UTC)`,
        ]}
        numbers={[1, 2, 3, 4]}
      >
        <tbody>
          {tables.map((table) => (
            <tr key={table.name}>
              <th scope="row" title={translated(table.doc)}>
                {table.name}
                <small class="doc">{translated(table.doc)}</small>
              </th>
              <td class="n">{count(table.rows)}</td>
              <td class="n">
                {bytes(table.bytes)}
                <i
                  class="meter"
                  style={`width:${Math.max(2, (table.bytes / most) * 100)}%`}
                  aria-hidden="true"
                />
              </td>
              <td class="n">{count(table.files)}</td>
              <td class="n">{table.version}</td>
              <td>{table.first === null ? "·" : `${table.first} – ${table.last}`}</td>
              <td>{table.committedAt === null ? "·" : instant(table.committedAt)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{text("total")}</th>
            <td class="n">{count(rows)}</td>
            <td class="n">{bytes(all)}</td>
            <td colSpan={4}>{freeBytes !== null && `${bytes(freeBytes)} ${text("free")}`}</td>
          </tr>
        </tfoot>
      </Table>
    </>
  );
}

/** The first view: the state of the markets, coverage, the last runs, the findings of the audits, and the tables. */
export function LakeView() {
  const { report } = useShownState();
  const market = useJson<{ markets: MarketReport[] }>(useStateAddress("market"));
  const coverage = useJson<CoverageReport>(useStateAddress("coverage"));
  const runs = useJson<{ runs: RunReport[] }>(useStateAddress("runs"));
  const isRefused = report?.refused.some(({ name }) => name === "bars_1d") === true;
  document.title = `${text("lake")} · barlake`;
  return (
    <>
      <h1 class="hidden">{text("lake")}</h1>
      <Section name="market" waiting={market} height={150}>
        {({ markets }) =>
          isRefused ? (
            <p class="empty">bars_1d {text("refused")}</p>
          ) : markets.length === 0 ? (
            <Missing why={text("noBars")} next={text("noBarsHint")} />
          ) : (
            <MarketCards markets={markets} />
          )
        }
      </Section>
      <Section name="coverage" waiting={coverage} height={220}>
        {(found) => <CoverageMap coverage={found} />}
      </Section>
      <Section name="runs" waiting={runs} height={120}>
        {(found) =>
          found.runs.length === 0 ? (
            <Missing why={text("noRuns")} next={text("noRunsHint")} />
          ) : (
            <RunList runs={found.runs} />
          )
        }
      </Section>
      <section aria-labelledby="findings">
        <h2 id="findings">{text("quality")}</h2>
        <Findings isTurn={![market, coverage, runs].some(({ isLoading }) => isLoading)} />
      </section>
      <section aria-labelledby="tables">
        <h2 id="tables">{text("tables")}</h2>
        {report === undefined ? <div class="hollow" style="height:300px" /> : <TableList report={report} />}
      </section>
    </>
  );
}

/** Counted, and their script loaded, once the rest of the view, which would wait otherwise, has arrived (`isTurn`). */
function Findings({ isTurn }: { readonly isTurn: boolean }) {
  const [View, setView] = useState<ComponentType>();
  useEffect(() => {
    if (!isTurn) return;
    void import("../quality/finding-summary.js").then(({ FindingSummary }) => setView(() => FindingSummary));
  }, [isTurn]);
  return View === undefined ? <div class="hollow" style="height:80px" /> : <View />;
}

/**
 * A part of the view. It has its final size until its data arrives, so that nothing moves then. The data of another
 * version is pale until that of the shown one arrives.
 */
function Section<T>({
  name,
  waiting,
  height,
  children,
}: {
  readonly name: TextName;
  readonly waiting: Waiting<T>;
  readonly height: number;
  readonly children: (value: T) => preact.JSX.Element;
}) {
  return (
    <section aria-labelledby={name} class={waiting.value !== undefined && waiting.isLoading ? "stale" : ""}>
      <h2 id={name}>{text(name)}</h2>
      <Loaded waiting={waiting} height={height}>
        {children}
      </Loaded>
    </section>
  );
}
