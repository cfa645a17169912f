/** Texts longer than this are shown on several lines. */
export const LONG = 60;

/**
 * A table of facts with a heading; nothing where there are no facts. @param numbers positions of the columns of numbers
 */
export function FactTable({
  id,
  title,
  head,
  numbers = [],
  rows,
}: {
  readonly id: string;
  readonly title: string;
  readonly head: readonly string[];
  readonly numbers?: readonly number[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}) {
  if (rows.length === 0) return null;
  const classOf = (place: number, value: string | number | null = null): string => {
    if (typeof value === "string" && value.length > LONG) return "long";
    return numbers.includes(place) ? "n" : "";
  };
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div class="table" tabIndex={0} role="region" aria-labelledby={id}>
        <table>
          <thead>
            <tr>
              {head.map((name, place) => (
                <th scope="col" key={name} class={classOf(place)}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((value, place) => (
                  <td key={place} class={classOf(place, value)}>
                    {value === null ? "·" : value}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
