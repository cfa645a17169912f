import type { ServerResponse } from "node:http";
import type { EventClock } from "../../clock/event-clock.js";
import { json, openScripted, type Seen } from "../../service/scripted-server.js";
import type { Draws } from "../../simulated-ingest/draws.js";
import type { VirtualProcess } from "./virtual-process.js";

/** A request that the service has received; times by the clock of the simulation. */
export interface Received {
  readonly time: number;
  readonly process: VirtualProcess;
  readonly period: string;
  readonly symbols: string;
  /** Start of the window, epoch milliseconds. */
  readonly start: number;
  /** Whether it was refused for the quota. */
  readonly isRefused: boolean;
  /** Whether the process has received the response. */
  wasDelivered: boolean;
}

export interface SharedService {
  /** The address that a process uses. */
  urlFor(process: VirtualProcess): string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
/** Longest way of a request to the service. */
const ARRIVAL_MS = 900;
const RESPONSE_MS = 1500;

/**
 * A service on a real socket that permits so many requests in any minute. What a process that is stopped, or cut off, is sent
 * arrives later, or never.
 *
 * @param dataOf the data of a response.
 */
export async function openSharedService(
  dataOf: (seen: Seen) => object,
  { time, draws, rpm }: { readonly time: EventClock; readonly draws: Draws; readonly rpm: number },
): Promise<SharedService> {
  const received: Received[] = [];
  const processes = new Map<string, VirtualProcess>();
  const respond = async (seen: Seen, response: ServerResponse): Promise<void> => {
    const [, name = ""] = seen.path.split("/");
    const process = processes.get(name) as VirtualProcess;
    process.pass("asks");
    if (process.isCutFromService) return void response.destroy();
    await time.delay(draws.below(ARRIVAL_MS));
    const counted = received.filter((one) => !one.isRefused && one.time > time.now() - MINUTE_MS);
    const one: Received = {
      time: time.now(),
      process,
      period: seen.query.get("period") ?? "",
      symbols: seen.query.get("symbols") ?? "",
      start: Number(seen.query.get("start_time")),
      isRefused: counted.length >= rpm,
      wasDelivered: false,
    };
    received.push(one);
    await time.delay(draws.below(RESPONSE_MS));
    process.pass("receives");
    // A connection that was cut off goes on afterwards, or is broken.
    if (process.isCutFromService && draws.below(2) === 0) return void response.destroy();
    while (process.unreachableMs > 0 && !process.isDead) await time.delay(process.unreachableMs);
    if (process.isDead) return void response.destroy();
    if (one.isRefused) return json(response, 429, { code: "RATE_LIMITED" }, { "retry-after": "60" });
    one.wasDelivered = true;
    json(response, 200, { data: dataOf(seen) });
  };
  const server = await openScripted((seen, response) => void respond(seen, response));
  return {
    urlFor(process) {
      processes.set(process.name, process);
      return `${server.url}/${process.name}`;
    },
    received,
    close: () => server.close(),
  };
}
