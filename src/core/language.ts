/** A language of the texts that the workspace and notebooks show. */
export type Language = "en" | "zh";

/**
 * The language of a tag such as `zh-CN`, of the header Accept-Language, whose first tag counts, or of LANG: Chinese, else
 * English.
 */
export function languageOf(text: string | undefined): Language {
  return /^\s*zh(?![a-z])/i.test(text ?? "") ? "zh" : "en";
}
