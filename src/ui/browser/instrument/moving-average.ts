/** The mean of the last `length` values at each place; NaN where there are not as many. */
export function movingAverage(values: Float64Array, length: number): Float64Array {
  const means = new Float64Array(values.length).fill(Number.NaN);
  for (let end = length - 1; end < values.length; end++) {
    // Each sum is new: a running one would carry the rounding of all values before.
    let sum = 0;
    for (let at = end - length + 1; at <= end; at++) sum += values[at] as number;
    means[end] = sum / length;
  }
  return means;
}
