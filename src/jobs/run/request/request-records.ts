import { isNotOffered } from "../../../client/response-error.js";
import { ServiceError, TransportError, WireError } from "../../../core/errors.js";
import type { Issue } from "../../../core/issue.js";
import type { TimeRange } from "../../../core/time.js";
import { isLoss } from "../../../lake/land/rejects.js";
import type { AbsenceReason } from "../../../schema/runs.js";
import { type RequestRecord, ROWS_SET_ASIDE } from "../../ledger/ledger.js";

export interface Purpose {
  readonly dataset: string;
  readonly symbols: readonly string[];
  readonly window?: TimeRange | undefined;
  /** End of the final bars at the time of the request (epoch ms). */
  readonly finalEnd?: number | undefined;
  /** Most bars that the response may have. @default few */
  readonly bars?: number | undefined;
}

export interface Received {
  readonly rows: number;
  readonly rejected: number;
  readonly bytes: number;
  readonly absent: readonly string[];
  readonly issues: readonly Issue[];
  /** The parts of the purpose with a full response. The rest still needs a request. @default all */
  readonly parts?: readonly Pick<Purpose, "symbols" | "window">[];
  /** The requested parts that are missing or incomplete in the lake. @default none */
  readonly holes?: readonly AbsentPart[];
  /** Stretches of the window without a bar of a symbol that has some in the response. @default none */
  readonly empty?: RequestRecord["empty"];
  /**
   * The requested symbols of which rows were set aside, where the caller records them itself. @default a request without
   * a window counts as failed if its response has such rows
   */
  readonly setAside?: readonly string[];
}

export interface AbsentPart extends Pick<Purpose, "symbols" | "window"> {
  readonly reason: AbsenceReason;
}

export interface Asked
  extends Purpose,
    Pick<RequestRecord, "runId" | "pipeline" | "requestId" | "endpoint" | "askedAt"> {
  attempts: number;
}

/** A request that was refused or failed, or another event that makes a run partial. */
export interface Failure {
  /** Undefined where the failure is not about one table. */
  readonly dataset: string | undefined;
  /** Dataset and number of the request, or another subject. */
  readonly request: string;
  readonly reason: string;
  readonly symbols: number;
}

/** A response, with the records that the ledger and the rejects receive after its rows have landed. */
export interface PendingResponse<T> {
  readonly value: T;
  readonly requestId: string;
  /** Identifies the response among all runs. */
  readonly source: string;
  readonly entry: LedgerEntry;
}

/** What a landing records in addition to its rows. */
export interface LedgerEntry {
  readonly records: readonly RequestRecord[];
  readonly issues: readonly Issue[];
}

/** Faults of the service or of the connection. They end a request, but not the run. */
export type ServiceFault = ServiceError | TransportError | WireError;

/**
 * The rows of the ledger for a response: one for each part with a full response, and one for each hole. The first row
 * states the cost. A response that settles nothing has one row without symbols.
 */
export function responseRecords(asked: Asked, received: Received, durationMs: number): RequestRecord[] {
  const { rows, rejected, bytes } = received;
  const parts = received.parts ?? [{ symbols: asked.symbols, window: asked.window }];
  const missing = new Set(received.absent);
  const settled = parts.map((part) => {
    const absent = part.symbols.filter((symbol) => missing.has(symbol));
    const empty = received.empty && emptyIn(part, received.empty);
    return { ...part, absent, empty, ...(absent.length > 0 && asked.window && { reason: "others_came" }) };
  });
  const holes = (received.holes ?? []).map((hole) => ({ ...hole, absent: hole.symbols }));
  const answered = { ...asked, httpStatus: 200, durationMs };
  if (lacksRows(asked, received))
    return [
      {
        ...answered,
        status: "failed",
        rows,
        rejected,
        bytes,
        absent: received.absent,
        reason: ROWS_SET_ASIDE,
      },
    ];
  const nothing = { attempts: 0, rows: 0, rejected: 0, bytes: 0, durationMs: 0 };
  const [first = { symbols: [], absent: [] }, ...others] = [...settled, ...holes];
  return [
    {
      ...answered,
      status: rows === 0 ? "empty" : "answered",
      rows,
      rejected,
      bytes,
      ...first,
    },
    ...others.map((part, index): RequestRecord => {
      const requestId = `${asked.requestId}.${index + 1}`;
      return { ...answered, ...nothing, status: "answered", requestId, ...part };
    }),
  ];
}

/** The stretches of a response that are about a part of it. */
export function emptyIn(
  { symbols, window }: Pick<Purpose, "symbols" | "window">,
  empty: NonNullable<Received["empty"]>,
): NonNullable<Received["empty"]> {
  if (empty.length === 0 || window === undefined) return [];
  const own = new Set(symbols);
  return empty.filter(
    (one) => own.has(one.symbol) && one.window.start < window.end && one.window.end > window.start,
  );
}

/** Whether requested rows of a snapshot were set aside, and the caller does not record of which symbols they are. */
function lacksRows({ window }: Asked, { issues, setAside }: Received): boolean {
  if (window !== undefined || setAside !== undefined) return false;
  return issues.some(({ rule, rejected }) => isLoss({ rule, rows: rejected }));
}

/**
 * A ledger entry in which requests for some symbols count as failed although their rows land, so that the next run
 * requests them again.
 *
 * @param reasons by symbol; "" is the key of a request that names no symbols.
 */
export function withFailed(entry: LedgerEntry, reasons: ReadonlyMap<string, string>): LedgerEntry {
  const [record] = entry.records;
  if (record === undefined || reasons.size === 0) return entry;
  const failure = { status: "failed", reason: [...new Set(reasons.values())].join("; ") } as const;
  const sound = record.symbols.filter((symbol) => !reasons.has(symbol));
  if (sound.length === 0) return { ...entry, records: [{ ...record, ...failure }] };
  const partOf = (symbols: readonly string[]): Pick<RequestRecord, "symbols" | "absent"> => {
    return { symbols, absent: record.absent.filter((symbol) => symbols.includes(symbol)) };
  };
  const nothing = { attempts: 0, rows: 0, rejected: 0, bytes: 0, durationMs: 0 };
  const own = partOf(record.symbols.filter((symbol) => reasons.has(symbol)));
  const failed = { ...record, ...nothing, ...own, ...failure, requestId: `${record.requestId}.1` };
  return { ...entry, records: [{ ...record, ...partOf(sound) }, failed] };
}

/**
 * The row of the ledger for a window without a separate request, because other responses have shown that it is empty.
 */
export function settledRecord(asked: Asked, reason: AbsenceReason | undefined): RequestRecord {
  const nothing = { rows: 0, rejected: 0, bytes: 0, durationMs: 0 };
  const absent = reason === undefined ? [] : asked.symbols;
  return { ...asked, ...nothing, absent, reason, status: "answered" };
}

/** The row of the ledger for a request that was refused or failed. */
export function failedRecord(
  asked: Asked,
  fault: ServiceFault,
  reason: string,
  durationMs: number,
): RequestRecord {
  return {
    ...asked,
    status: isRefusal(fault) ? "refused" : "failed",
    httpStatus: fault instanceof ServiceError ? fault.status : undefined,
    rows: 0,
    rejected: 0,
    bytes: 0,
    durationMs,
    absent: [],
    reason,
  };
}

/** Whether the service refuses a request permanently, so that a retry does not help. */
export function isRefusal(fault: ServiceFault): boolean {
  if (isNotOffered(fault)) return true;
  return fault instanceof ServiceError && fault.status >= 400 && fault.status < 500 && fault.status !== 429;
}

export function isServiceFault(error: unknown): error is ServiceFault {
  return error instanceof ServiceError || error instanceof TransportError || error instanceof WireError;
}
