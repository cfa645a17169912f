/** What Chinese exchanges and brokers ask for. */
export const RULES = {
  /** Shares are bought in whole lots; what is left of one may be sold. */
  lot: 100,
  /** Of the amount, on either side, and at least so much an order. */
  commission: 0.00025,
  leastCommission: 5,
  /** Of the amount of a sale: half of what it was since this date. */
  stampDuty: (date: string): number => (date >= "2023-08-28" ? 0.0005 : 0.001),
  /** How much worse than the price seen an order is filled. */
  slippage: 0.0005,
};

/** What a symbol can be traded at: `price` as traded, and `factor`, by which it is adjusted. */
export interface Quote {
  readonly date: string;
  readonly price: number;
  readonly factor: number;
  /** False where nothing trades, or at the limit at which nobody is on the other side. */
  readonly canBuy: boolean;
  readonly canSell: boolean;
}

/** An order that was filled. `shares` is below 0 for a sale; `price` is what was paid for each, slippage included. */
export interface Fill {
  readonly date: string;
  readonly symbol: string;
  readonly shares: number;
  readonly price: number;
  readonly commission: number;
  readonly stampDuty: number;
}

/**
 * The position in a symbol: `units` = shares / factor. A unit's value is the adjusted price, also after splits and
 * dividends; `units * factor` is today's number of shares, with dividends put into more of them.
 */
interface Holding {
  units: number;
  /** Bought on `date`: not for sale on that date. */
  fresh: number;
  date: string;
}

/** A cash account for Chinese shares. */
export class Broker {
  readonly fills: Fill[] = [];
  readonly #holdings = new Map<string, Holding>();
  cash: number;

  constructor(cash: number) {
    this.cash = cash;
  }

  get symbols(): string[] {
    return [...this.#holdings.keys()];
  }

  /** The position in a symbol, times its adjusted price. */
  worth(symbol: string, adjustedPrice: number): number {
    return (this.#holdings.get(symbol)?.units ?? 0) * adjustedPrice;
  }

  /** Buys as many lots as an amount pays for, costs included. @returns whether it bought any. */
  buy(symbol: string, amount: number, { date, price, factor, canBuy }: Quote): boolean {
    const paid = price * (1 + RULES.slippage);
    const budget = Math.min(amount, this.cash);
    const most = Math.min(budget / (1 + RULES.commission), budget - RULES.leastCommission);
    const shares = Math.floor(most / paid / RULES.lot) * RULES.lot;
    if (!canBuy || !(shares > 0)) return false;
    const commission = Math.max(shares * paid * RULES.commission, RULES.leastCommission);
    this.cash -= shares * paid + commission;
    this.fills.push({ date, symbol, shares, price: paid, commission, stampDuty: 0 });
    const holding = this.#holdings.get(symbol) ?? { units: 0, fresh: 0, date };
    const fresh = (holding.date === date ? holding.fresh : 0) + shares / factor;
    this.#holdings.set(symbol, { units: holding.units + shares / factor, fresh, date });
    return true;
  }

  /** Sells whole lots for about an amount, or all there is, but nothing that was bought today. @returns whether it sold any. */
  sell(symbol: string, amount: number, { date, price, factor, canSell }: Quote): boolean {
    const holding = this.#holdings.get(symbol);
    if (!holding || !canSell) return false;
    const units = holding.units - (holding.date === date ? holding.fresh : 0);
    const wanted = Math.round(amount / price / RULES.lot) * RULES.lot;
    const isAll = wanted >= units * factor;
    const shares = isAll ? units * factor : wanted;
    if (!(shares > 0)) return false;
    const got = price * (1 - RULES.slippage);
    const commission = Math.max(shares * got * RULES.commission, RULES.leastCommission);
    const stampDuty = shares * got * RULES.stampDuty(date);
    this.cash += shares * got - commission - stampDuty;
    this.fills.push({ date, symbol, shares: -shares, price: got, commission, stampDuty });
    holding.units -= isAll ? units : shares / factor;
    if (holding.units === 0) this.#holdings.delete(symbol);
    return true;
  }
}
