import { useState } from "preact/hooks";
import type { RunRequest } from "../../page-data.js";
import { useAddress } from "../address/address.js";
import { type Fault, faultOf, send } from "../fetch-data.js";
import { useStateAddress } from "../lake-state.js";
import { type NotebookDocument, textOf } from "./notebook-document.js";

/** Makes the page of a notebook, with the parameters in the address. */
export function usePage(
  name: string,
  newest: { readonly current: NotebookDocument },
): { readonly make: (() => void) | undefined; readonly fault: Fault | undefined } {
  const { query } = useAddress();
  const given = Object.fromEntries([...query].filter(([key]) => key.startsWith("p.")));
  const address = useStateAddress("notebook/page", given);
  const [isMaking, setMaking] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const make = (): void => {
    if (address === undefined) return;
    setMaking(true);
    setFault(undefined);
    savePage(address, { name, text: textOf(newest.current) }).then(
      () => setMaking(false),
      (error: unknown) => {
        setMaking(false);
        setFault(faultOf(error));
      },
    );
  };
  return { make: isMaking ? undefined : make, fault };
}

/** Requests the page of a notebook, for which the notebook runs, and downloads it as a file. @throws {Fault} */
async function savePage(address: string, { name, text }: RunRequest): Promise<void> {
  const response = await send("POST", address, { name, text });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${name}.html`;
  link.click();
  URL.revokeObjectURL(link.href);
}
