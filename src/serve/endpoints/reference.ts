import type { RecordBatch } from "apache-arrow";
import { type BatchColumn, columnBatch } from "../../arrow/column-batch.js";
import type { TradingDate } from "../../core/time.js";
import { INSTRUMENT_EXT, INSTRUMENTS } from "../../schema/reference.js";
import { jsonText } from "../../wire/encode/json-text.js";
import type { BodyFormat } from "../../wire/media-type.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { Instrument } from "../../wire/resources.js";
import { RequestError } from "../http/request-error.js";
import type { LakeView } from "../read/lake-reader.js";
import { versionsText } from "../read/lake-version.js";
import { ArrowResponse, type EndpointHandler, only, TextResponse } from "./response.js";

/** Number of bars that take as much memory as the text of an instrument, and the copy that is sent. */
const ROWS_OF_AN_INSTRUMENT = 10;

/** Metadata of the symbols, in their order; an unknown symbol is left out. */
async function instrumentsOf(view: LakeView, symbols: readonly string[]): Promise<Instrument[]> {
  (await view.scope()).checkSymbols(symbols);
  await view.acquireMemory(symbols.length * ROWS_OF_AN_INSTRUMENT);
  const { instruments } = await view.reference();
  return symbols.flatMap((symbol) => instruments.get(symbol) ?? []);
}

/** `GET /v1/instruments` */
export const serveInstruments: EndpointHandler = async (view, { query, format }) => {
  const { symbols } = parseParameters(PARAMETERS.instruments, query);
  return instrumentsBody(view, format, await instrumentsOf(view, symbols));
};

/** `POST /v1/instruments` */
export const serveInstrumentsBatch: EndpointHandler = async (view, { body, format }) => {
  const { symbols } = parseParameters(PARAMETERS.instrumentsBatch, body);
  return instrumentsBody(view, format, await instrumentsOf(view, symbols));
};

/** `GET /v1/symbols` */
export const serveSymbols: EndpointHandler = async (view, { query }) =>
  instrumentsText(
    (await instrumentsOf(view, parseParameters(PARAMETERS.symbols, query).symbols)).map(symbolRecord),
  );

/** `POST /v1/symbols` */
export const serveSymbolsBatch: EndpointHandler = async (view, { body }) =>
  instrumentsText(
    (await instrumentsOf(view, parseParameters(PARAMETERS.symbolsBatch, body).symbols)).map(symbolRecord),
  );

const DOUBLES: ReadonlySet<string> = new Set(
  INSTRUMENT_EXT.filter(({ type }) => type === "double").map(({ name }) => name),
);

/** Instruments in the format that the client accepts. @param more members in addition to `data`; a table has none. */
async function instrumentsBody(
  view: LakeView,
  format: BodyFormat,
  data: readonly Instrument[],
  more: object = {},
): Promise<ArrowResponse | TextResponse> {
  if (format === "json") return instrumentsText(data, more);
  const versions = await versionsText(view.version, [INSTRUMENTS]);
  return ArrowResponse.ofBatches(only(instrumentBatch(data, new Map([["versions", versions]]))), data.length);
}

const REQUIRED = ["symbol", "code", "exchange", "region", "type"] as const;
const EXT_NAMES: ReadonlySet<string> = new Set(["type", ...INSTRUMENT_EXT.map(({ name }) => name)]);

/**
 * Instruments as one record batch: the members of an instrument, and those of its `ext` that the schema declares, each
 * as a column; `ext_type`; and `ext_other` with the other members as JSON text.
 */
function instrumentBatch(
  instruments: readonly Instrument[],
  metadata: ReadonlyMap<string, string>,
): RecordBatch {
  const exts = instruments.map(({ ext }) => (ext ?? {}) as Readonly<Record<string, unknown>>);
  const extColumns = INSTRUMENT_EXT.map(({ name, type, unit }): BatchColumn => {
    const values = exts.map((ext) => ext[name] ?? null);
    if (type === "double") return { name, unit, kind: "double", values: values as (number | null)[] };
    if (type === "date") return { name, kind: "date", values: values as (TradingDate | null)[] };
    return { name, kind: "text", values: values as (string | null)[] };
  });
  const columns: BatchColumn[] = [
    ...REQUIRED.map(
      (name): BatchColumn => ({
        name,
        kind: "text",
        isRequired: true,
        values: instruments.map((one) => one[name]),
      }),
    ),
    { name: "name", kind: "text", values: instruments.map(({ name }) => name ?? null) },
    { name: "ext_type", kind: "text", values: instruments.map(({ ext }) => ext?.type ?? null) },
    ...extColumns,
    { name: "ext_other", kind: "text", values: exts.map(otherMembers) },
  ];
  return columnBatch(columns, instruments.length, metadata);
}

function otherMembers(ext: Readonly<Record<string, unknown>>): string | null {
  const others = Object.entries(ext).filter(([name]) => !EXT_NAMES.has(name));
  return others.length === 0 ? null : JSON.stringify(Object.fromEntries(others));
}

function instrumentsText(data: readonly object[], more: object = {}): TextResponse {
  return new TextResponse(jsonText({ ...more, data }, (member) => DOUBLES.has(member)));
}

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
  const [{ universes }, members] = [await view.reference(), await view.members()];
  const summary = universes.get(id);
  if (summary === undefined)
    throw new RequestError("NOT_FOUND", `universe ${JSON.stringify(id.slice(0, 64))} is not known`);
  const symbols = members.get(id) ?? [];
  // The text of a symbol takes less memory than a bar.
  await view.acquireMemory(symbols.length);
  return { data: { ...summary, symbols } };
};

/** `POST /v1/universes/batch`: an unknown id is left out. */
export const serveUniversesBatch: EndpointHandler = async (view, { body }) => {
  const { ids } = parseParameters(PARAMETERS.universesBatch, body);
  (await view.scope()).checkUniverses(ids);
  const [{ universes }, members] = [await view.reference(), await view.members()];
  const details = ids.flatMap((id) => {
    const summary = universes.get(id);
    return summary === undefined ? [] : [[id, { ...summary, symbols: members.get(id) ?? [] }] as const];
  });
  await view.acquireMemory(details.reduce((sum, [, { symbols }]) => sum + symbols.length, 0));
  return { data: Object.fromEntries(details) };
};

/** `GET /v1/exchanges`: with counts of what the key may request, without exchanges of which it may request nothing. */
export const serveExchanges: EndpointHandler = async (view) => {
  const [scope, { exchanges, instruments }] = [await view.scope(), await view.reference()];
  if (scope.isWhole) return { data: [...exchanges.values()] };
  const counts = new Map<string, number>();
  for (const { symbol, exchange } of instruments.values())
    if (scope.hasSymbol(symbol)) counts.set(exchange, (counts.get(exchange) ?? 0) + 1);
  const own = [...exchanges.values()].flatMap((row) => {
    const count = counts.get(row.exchange);
    return count === undefined ? [] : [{ ...row, count }];
  });
  return { data: own };
};

/** `GET /v1/exchanges/{exchange}/instruments`: the instruments that the key may request. */
export const serveExchangeInstruments: EndpointHandler = async (view, { path, query, format }) => {
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
  await view.acquireMemory(data.length * ROWS_OF_AN_INSTRUMENT);
  return instrumentsBody(view, format, data, { count: data.length, exchange });
};
