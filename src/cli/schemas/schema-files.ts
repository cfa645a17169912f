/** The JSON schemas of files that users write: their names in `dist/json-schema`. */
export const SCHEMA_FILES = { config: "config.json", dataset: "dataset.json" } as const;
