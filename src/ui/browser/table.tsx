import type { ComponentChild, ComponentChildren } from "preact";

/** A table that scrolls within the page. @param of id of its title. @param numbers positions of columns of numbers */
export function Table({
  of,
  kind,
  head,
  numbers = [],
  children,
}: {
  readonly of: string;
  readonly kind?: string;
  readonly head: readonly ComponentChild[];
  readonly numbers?: readonly number[];
  readonly children: ComponentChildren;
}) {
  return (
    <div
      class={kind === undefined ? "table" : `table ${kind}`}
      tabIndex={0}
      role="region"
      aria-labelledby={of}
    >
      <table>
        <thead>
          <tr>
            {head.map((name, place) => (
              <th scope="col" key={place} class={numbers.includes(place) ? "n" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        {children}
      </table>
    </div>
  );
}
