import { useEffect, useState } from "preact/hooks";
import type { LiveReport } from "../../runs/runs-data.js";
import { askJson, type Fault, faultOf } from "../fetch-data.js";

/** How often the runs are looked at, while a run of this workspace goes on, and otherwise. */
const SOON_MS = 1000;
const LATER_MS = 3000;

/** The runs that go on, looked at again and again while the page is seen. */
export function useLive(): {
  readonly live: LiveReport | undefined;
  readonly fault: Fault | undefined;
  /** Looks now. */
  readonly look: () => void;
} {
  const [live, setLive] = useState<LiveReport>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // One look after another: a slow server is not asked twice at a time.
    const look = async (): Promise<void> => {
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
      if (!stop.signal.aborted) timer = setTimeout(() => void look(), pause);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [round]);
  return { live, fault, look: () => setRound((n) => n + 1) };
}
