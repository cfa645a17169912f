import { appendFileSync, readFileSync } from "node:fs";
import type { RequestRecord } from "../../../src/jobs/ledger/ledger.js";
import type { RunStatus } from "../../../src/schema/runs.js";
import type { Endpoint } from "../../../src/wire/endpoints.js";
import type { Seen } from "../service/scripted-server.js";
import { type Endless, type Fault, MISSING_DAY, WRONGS, type Wrong } from "./fault-schedule.js";
import type { SymbolTime } from "./findings/symbol-time.js";
import type { Act } from "./foreign-writer.js";
import type { OthersOutcome } from "./upstream/other-users.js";

/** The outcome of a request at the service. */
export type Outcome =
  | "answered"
  | "answered slowly"
  | "forbidden"
  | "over quota"
  | OthersOutcome
  | "too many"
  | Fault
  | Endless
  | Wrong;

const VALID: ReadonlySet<Outcome> = new Set(["answered", "answered slowly", MISSING_DAY, ...WRONGS]);

/** Whether a response was valid, right or wrong: it is spooled. */
export function isValid(outcome: Outcome): boolean {
  return VALID.has(outcome);
}

/** The events, in order; times in epoch milliseconds. */
export type Event =
  | { readonly kind: "began"; readonly life: number; readonly at: number; readonly pipeline: string }
  | {
      readonly kind: "asked";
      readonly life: number;
      readonly at: number;
      /** Number of the request within its life, from 0. */
      readonly index: number;
      readonly endpoint: string;
      /** Two requests with equal content are the same. */
      readonly content: string;
      readonly symbols: readonly string[];
      readonly period: string | null;
      /** Both ends inclusive, as on the wire. */
      readonly first: number;
      readonly last: number;
      readonly outcome: Outcome;
      /** Number of bars in the response, and how often it was cut: bars before a cut are left out. */
      readonly bars: number;
      readonly cuts: number;
      /** What was left out within the response. */
      readonly leftOut?: SymbolTime | undefined;
    }
  | {
      readonly kind: "foreign";
      readonly life: number;
      readonly at: number;
      readonly table: string;
      readonly act: Act;
      /** Whether a run was active. */
      readonly isDuring: boolean;
      /** Rows of the other engine's own symbol that it added. */
      readonly added?: { readonly symbol: string; readonly rows: number } | undefined;
      /** Rows that the other engine deleted. */
      readonly deleted?: SymbolTime | undefined;
    }
  | {
      readonly kind: "kept";
      readonly life: number;
      readonly at: number;
      readonly records: readonly RequestRecord[];
    }
  | {
      readonly kind: "ended";
      readonly life: number;
      readonly at: number;
      readonly pipeline: string;
      readonly status: RunStatus;
      readonly sent: number;
      readonly failures: readonly string[];
      /** What the report lists as missing without an explanation, or as set aside. */
      readonly open: readonly SymbolTime[];
      /** Bars that the report lists as withdrawn by the service. */
      readonly withdrawn: readonly (SymbolTime & { readonly bars: number })[];
      /** Number of sessions that the report assumes to be suspensions. */
      readonly noBar: number;
      /** Number of received bars in the report. */
      readonly received: number;
    }
  | { readonly kind: "dying"; readonly life: number; readonly at: number; readonly of: string };

/** Records the events of a life, each before the next can happen: the record outlives the process. */
export class Chronicle {
  readonly #path: string;
  readonly #life: number;

  constructor(path: string, life: number) {
    this.#path = path;
    this.#life = life;
  }

  note(event: { [Kind in Event as Kind["kind"]]: Omit<Kind, "life"> }[Event["kind"]]): void {
    appendFileSync(this.#path, `${JSON.stringify({ ...event, life: this.#life })}\n`);
  }

  asked({
    index,
    at,
    endpoint,
    seen,
    outcome,
    bars,
    cuts,
    leftOut,
  }: {
    readonly index: number;
    readonly at: number;
    readonly endpoint: Endpoint;
    readonly seen: Seen;
    readonly outcome: Outcome;
    readonly bars: number;
    readonly cuts: number;
    readonly leftOut?: SymbolTime | undefined;
  }): void {
    const { path, query, body } = seen;
    this.note({
      kind: "asked",
      at,
      index,
      endpoint: `${endpoint.method} ${endpoint.path}`,
      content: `${path}?${query.toString()} ${body}`,
      symbols: query.get("symbols")?.split(",") ?? [],
      period: query.get("period"),
      first: Number(query.get("start_time") ?? Number.NEGATIVE_INFINITY),
      last: Number(query.get("end_time") ?? Number.POSITIVE_INFINITY),
      outcome,
      bars,
      cuts,
      leftOut,
    });
  }
}

/** The events so far. */
export function readChronicle(path: string): Event[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event);
}
