import type { MarketReport } from "../../page-data.js";
import { addressOf } from "../address/address.js";
import { Link } from "../address/link.js";
import { change, compactNumber, count, price } from "../formats.js";
import { risingClass } from "../rising.js";
import { text } from "../texts.js";

/** The newest landed session of each region. */
export function MarketCards({ markets }: { readonly markets: readonly MarketReport[] }) {
  return (
    <div class="cards">
      {markets.map((market) => (
        <MarketCard key={market.region} market={market} />
      ))}
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
      {traded.length > 0 && (
        <table class="plain">
          <caption>{text("mostTraded")}</caption>
          <tbody>
            {traded.map((one) => (
              <tr key={one.symbol}>
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
                <td class="n quiet" title={text("amount")}>
                  {compactNumber(one.amount)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </article>
  );
}
