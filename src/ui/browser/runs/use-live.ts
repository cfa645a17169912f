import { useEffect, useState } from "preact/hooks";
import type { LiveReport } from "../../runs/runs-data.js";
import { askJson, type Fault, faultOf } from "../fetch-data.js";

/** Time between two requests in milliseconds: while a run of this workspace is in progress, and otherwise. */
const SOON_MS = 1000;
const LATER_MS = 3000;

/** The runs in progress, requested repeatedly while the page is visible. */
export function useLive(): {
  readonly live: LiveReport | undefined;
  readonly fault: Fault | undefined;
  /** Requests the runs now. */
  readonly refresh: () => void;
} {
  const [live, setLive] = useState<LiveReport>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Requests are sent one after another, so that a slow server never has two of them.
    const poll = async (): Promise<void> => {
      let pause = LATER_MS;
      try {
        if (!document.hidden) {
          const found = await askJson<LiveReport>("/api/runs/live", stop.signal);
          setLive(found);
          setFault(undefined);
          if (found.started.some(({ ended }) => ended === null)) pause = SOON_MS;
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setFault(faultOf(error));
      }
      if (!stop.signal.aborted) timer = setTimeout(() => void poll(), pause);
    };
    void poll();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [round]);
  return { live, fault, refresh: () => setRound((n) => n + 1) };
}
