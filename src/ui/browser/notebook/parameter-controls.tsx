import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { FoundInstrument, ParameterReport } from "../../page-data.js";
import { change } from "../address/address.js";
import { apiAddress, askJson } from "../fetch-data.js";
import { useShownState } from "../lake-state.js";
import { text } from "../texts.js";

/** The parameters of a notebook as controls. A new value changes the address, and the notebook runs again. */
export function ParameterControls({
  parameters,
  children,
}: {
  readonly parameters: readonly ParameterReport[];
  readonly children: ComponentChildren;
}) {
  return (
    <form
      class="parameter-controls"
      aria-label={text("parameters")}
      onSubmit={(event) => event.preventDefault()}
    >
      {parameters.map((parameter) => (
        <label key={parameter.name}>
          {parameter.name.replaceAll("_", " ")}
          <Control parameter={parameter} choose={(value) => change({ [`p.${parameter.name}`]: value })} />
        </label>
      ))}
      {children}
    </form>
  );
}

/** The control of one parameter. */
function Control({
  parameter,
  choose,
}: {
  readonly parameter: ParameterReport;
  readonly choose: (value: string) => void;
}) {
  const { name, kind, value, options, min, max } = parameter;
  const list = useId();
  const [proposed, setProposed] = useState<readonly FoundInstrument[]>([]);
  const [typed, setTyped] = useState(value);
  const state = useShownState().report?.state;
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (kind !== "symbol" || options !== null || state === undefined) return;
    const stop = new AbortController();
    askJson<{ found: FoundInstrument[] }>(apiAddress("search", { state, q: typed }), stop.signal).then(
      ({ found }) => setProposed(found),
      () => {},
    );
    return () => stop.abort();
  }, [kind, options, state, typed]);
  if (options !== null)
    return (
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {(options.includes(value) ? options : [value, ...options]).map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    );
  const input = {
    name,
    value: typed,
    onInput: (event: { currentTarget: HTMLInputElement }) => setTyped(event.currentTarget.value),
    onChange: (event: { currentTarget: HTMLInputElement }) => choose(event.currentTarget.value),
  };
  if (kind === "date") return <input type="date" {...input} />;
  if (kind === "number")
    return (
      <input
        type="number"
        step="any"
        {...(min === null ? {} : { min })}
        {...(max === null ? {} : { max })}
        {...input}
      />
    );
  return (
    <>
      <input type="text" list={list} autocomplete="off" spellcheck={false} {...input} />
      <datalist id={list}>
        {proposed.map((one) => (
          <option key={one.symbol} value={one.symbol}>
            {one.name ?? ""}
          </option>
        ))}
      </datalist>
    </>
  );
}
