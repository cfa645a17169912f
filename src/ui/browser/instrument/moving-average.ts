/** The mean of the last `length` values at each position; NaN where there are fewer values. */
export function movingAverage(values: Float64Array, length: number): Float64Array {
  const means = new Float64Array(values.length).fill(Number.NaN);
  for (let end = length - 1; end < values.length; end++) {
    // Each sum is computed separately, because a running sum would accumulate rounding errors.
    let sum = 0;
    for (let at = end - length + 1; at <= end; at++) sum += values[at] as number;
    means[end] = sum / length;
  }
  return means;
}
