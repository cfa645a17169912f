export interface TypeSignature {
  readonly rawType: string;
  readonly arguments?: readonly TypeArgument[];
}

/** A parameter of a type: a length or precision, a type, or a field of a row. */
type TypeArgument =
  | { readonly kind: "LONG"; readonly value: number }
  | { readonly kind: "TYPE"; readonly value: TypeSignature }
  | {
      readonly kind: "NAMED_TYPE";
      readonly value: {
        readonly fieldName?: { readonly name: string };
        readonly typeSignature: TypeSignature;
      };
    };

export interface TrinoColumn {
  readonly name: string;
  /** The type as SQL. */
  readonly type: string;
  readonly typeSignature: TypeSignature;
}

export interface TrinoFailure {
  readonly message: string;
  readonly errorName: string;
  /** USER_ERROR: the statement is wrong. Otherwise the server has a fault, or lacks resources. */
  readonly errorType: string;
  /** Line and column, from 1. */
  readonly errorLocation?: { readonly lineNumber: number; readonly columnNumber: number };
}

/** One response to a statement. Whole numbers of 16 digits or more are texts: see {@link parsePage}. */
export interface TrinoPage {
  readonly id: string;
  readonly nextUri?: string;
  readonly columns?: readonly TrinoColumn[];
  readonly data?: readonly (readonly unknown[])[];
  readonly error?: TrinoFailure;
  /** The kind of a statement that is not a query, such as CREATE VIEW or INSERT. */
  readonly updateType?: string;
  readonly updateCount?: number;
}

/** A string, or a whole number that may not be exact as a double. */
const STRING_OR_LONG = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** Whole numbers of 16 digits or more become texts, because `JSON.parse` would round them to doubles. */
export function parsePage(text: string): TrinoPage {
  const exact = text.replaceAll(STRING_OR_LONG, (found) => (found.startsWith('"') ? found : `"${found}"`));
  return JSON.parse(exact) as TrinoPage;
}
