/** Up to this number of series, Plot chooses the colours. */
const FEW = 10;
/** Lightness of adjacent hues, in turn, so that the next colour of the same lightness is three hues away. */
const LIGHTNESS = { light: [0.5, 0.64, 0.76], dark: [0.58, 0.72, 0.86] } as const;
const CHROMA = 0.15;

/** A different colour for each series; undefined for a small number of series. */
export function seriesColours(count: number, isDark: boolean): string[] | undefined {
  if (count <= FEW) return undefined;
  const lightness = LIGHTNESS[isDark ? "dark" : "light"];
  return Array.from(
    { length: count },
    (_, n) => `oklch(${lightness[n % lightness.length]} ${CHROMA} ${Math.round((n * 3600) / count) / 10})`,
  );
}
