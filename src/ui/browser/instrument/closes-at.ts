/**
 * The closes of another instrument at the times of a chart: at each the newest one since the time before, NaN where there
 * is none. A chart whose series had times of their own would have other positions than its bars.
 */
export function closesAt(
  times: Float64Array,
  { time, close }: { readonly time: Float64Array; readonly close: Float64Array },
): Float64Array {
  let next = 0;
  return times.map((at) => {
    let found = Number.NaN;
    for (; next < time.length && (time[next] as number) <= at; next++) found = close[next] as number;
    return found;
  });
}
