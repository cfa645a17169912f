import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { Instrument } from "../../wire/resources.js";
import { RequestError } from "../http/request-error.js";
import type { LakeView } from "../read/lake-reader.js";
import type { EndpointHandler } from "./response.js";

/** Metadata of the symbols, in their order; an unknown symbol is left out. */
async function instrumentsOf(view: LakeView, symbols: readonly string[]): Promise<Instrument[]> {
  (await view.scope()).checkSymbols(symbols);
  const { instruments } = await view.reference();
  return symbols.flatMap((symbol) => instruments.get(symbol) ?? []);
}

/** `GET /v1/instruments` */
export const serveInstruments: EndpointHandler = async (view, { query }) => ({
  data: await instrumentsOf(view, parseParameters(PARAMETERS.instruments, query).symbols),
});

/** `POST /v1/instruments` */
export const serveInstrumentsBatch: EndpointHandler = async (view, { body }) => ({
  data: await instrumentsOf(view, parseParameters(PARAMETERS.instrumentsBatch, body).symbols),
});

/** `GET /v1/symbols` */
export const serveSymbols: EndpointHandler = async (view, { query }) => ({
  data: (await instrumentsOf(view, parseParameters(PARAMETERS.symbols, query).symbols)).map(symbolRecord),
});

/** `POST /v1/symbols` */
export const serveSymbolsBatch: EndpointHandler = async (view, { body }) => ({
  data: (await instrumentsOf(view, parseParameters(PARAMETERS.symbolsBatch, body).symbols)).map(symbolRecord),
});

function symbolRecord({ type, ...rest }: Instrument): object {
  return { ...rest, symbol_type: type };
}

/** `GET /v1/universes`: the universes that the key may request. */
export const serveUniverses: EndpointHandler = async (view) => {
  const [scope, { universes }] = [await view.scope(), await view.reference()];
  return { data: [...universes.values()].filter(({ id }) => scope.hasUniverse(id)) };
};

/** `GET /v1/universes/{id}` */
export const serveUniverse: EndpointHandler = async (view, { path }) => {
  const { id = "" } = path;
  (await view.scope()).checkUniverses([id]);
  const { universes, members } = await view.reference();
  const summary = universes.get(id);
  if (summary === undefined)
    throw new RequestError("NOT_FOUND", `universe ${JSON.stringify(id.slice(0, 64))} is not known`);
  return { data: { ...summary, symbols: members.get(id) ?? [] } };
};

/** `POST /v1/universes/batch`: an unknown id is left out. */
export const serveUniversesBatch: EndpointHandler = async (view, { body }) => {
  const { ids } = parseParameters(PARAMETERS.universesBatch, body);
  (await view.scope()).checkUniverses(ids);
  const { universes, members } = await view.reference();
  const details = ids.flatMap((id) => {
    const summary = universes.get(id);
    return summary === undefined ? [] : [[id, { ...summary, symbols: members.get(id) ?? [] }] as const];
  });
  return { data: Object.fromEntries(details) };
};

/** `GET /v1/exchanges` */
export const serveExchanges: EndpointHandler = async (view) => ({
  data: [...(await view.reference()).exchanges.values()],
});

/** `GET /v1/exchanges/{exchange}/instruments`: the instruments that the key may request. */
export const serveExchangeInstruments: EndpointHandler = async (view, { path, query }) => {
  const { type } = parseParameters(PARAMETERS.exchangeInstruments, query);
  const { exchange = "" } = path;
  const [scope, { exchanges, instruments }] = [await view.scope(), await view.reference()];
  const listed = [...instruments.values()].filter(
    (row) => row.exchange === exchange && scope.hasSymbol(row.symbol),
  );
  if (listed.length === 0 && !exchanges.has(exchange)) {
    throw new RequestError("NOT_FOUND", `exchange ${JSON.stringify(exchange.slice(0, 64))} is not known`);
  }
  const data = type === undefined ? listed : listed.filter((row) => row.type === type);
  return { count: data.length, exchange, data };
};
