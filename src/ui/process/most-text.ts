/**
 * Most characters of a text that a page gets in one piece: a line of a run, or rows of a result. The workspace has such
 * a text in memory several times while it sends it, and no browser shows a larger one well.
 */
export const MOST_TEXT = 32 * 2 ** 20;
