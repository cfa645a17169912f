import { useEffect, useState } from "preact/hooks";
import type { FaultReport } from "../page-data.js";
import { text } from "./texts.js";

export class Fault extends Error {
  readonly hint: string | null;
  readonly status: number;

  constructor({ message, hint }: FaultReport, status: number) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** Values that are undefined are left out. */
export function apiAddress(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return `/api/${path}?${new URLSearchParams(parts)}`;
}

/** Sends a request. @throws {Fault} */
export function ask(address: string, signal?: AbortSignal): Promise<Response> {
  return respond(address, signal === undefined ? {} : { signal });
}

/** Sends a JSON body. @param accepted a status that is not an error, in addition to success. @throws {Fault} */
export function send(
  method: "POST" | "PUT",
  address: string,
  body: unknown,
  signal?: AbortSignal,
  accepted?: number,
): Promise<Response> {
  const init = { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  return respond(address, signal === undefined ? init : { ...init, signal }, accepted);
}

async function respond(address: string, init: RequestInit, accepted?: number): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Fault({ message: text("offline"), hint: text("offlineHint") }, 0);
  }
  if (response.ok || response.status === accepted) return response;
  const body = (await response.json().catch(() => ({}))) as Partial<FaultReport>;
  throw new Fault({ message: body.message ?? response.statusText, hint: body.hint ?? null }, response.status);
}

/** Requests JSON. @throws {Fault} */
export async function askJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(address, signal)).json()) as T;
}

/** A value that a component waits for. The value of an earlier address remains until the next value has arrived. */
export interface Waiting<T> {
  readonly value: T | undefined;
  readonly fault: Fault | undefined;
  readonly isLoading: boolean;
}

/** Requests JSON, unless the address is undefined. A new address cancels the request for the previous one. */
export function useJson<T>(address: string | undefined): Waiting<T> {
  const [waiting, setWaiting] = useState<Waiting<T>>({ value: undefined, fault: undefined, isLoading: true });
  useEffect(() => {
    if (address === undefined) return;
    const stop = new AbortController();
    setWaiting(({ value }) => ({ value, fault: undefined, isLoading: true }));
    askJson<T>(address, stop.signal).then(
      (value) => setWaiting({ value, fault: undefined, isLoading: false }),
      (error: unknown) => {
        if (!stop.signal.aborted) setWaiting({ value: undefined, fault: faultOf(error), isLoading: false });
      },
    );
    return () => stop.abort();
  }, [address]);
  return waiting;
}

export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault({ message: error instanceof Error ? error.message : String(error), hint: null }, 0);
}
