import { readFile, writeFile } from "node:fs/promises";
import { z } from "zod";
import { messageOf, UsageError } from "../../../core/errors.js";
import { CHOICES, type ImportOptions } from "../import-options.js";

export interface FieldPlan {
  readonly field: string;
  /** Its name in the files; undefined where the value comes from the file's name or an option. */
  readonly column: string | undefined;
  readonly readAs: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export interface FormPlan {
  readonly files: readonly string[];
  /** The source whose form it is, if it is known. */
  readonly source: string | undefined;
  readonly fields: readonly FieldPlan[];
  readonly found: readonly string[];
  readonly unused: readonly { readonly column: string; readonly advice: string | undefined }[];
  /** Everything that was decided, as options: with them nothing is left to be found. */
  readonly decided: ImportOptions;
  readonly columns: readonly string[];
}

/** What a plan says about files, as options: all but a symbol, which is of one file. */
export const plannedOptions = z.strictObject({
  map: z.record(z.string(), z.string()),
  dateFormat: z.string().optional(),
  zone: z.string().optional(),
  encoding: z.string().optional(),
  skip: z.number().int().min(0).optional(),
  decimal: z.enum(CHOICES.decimal).optional(),
  volumeUnit: z.enum(CHOICES.volumeUnit).optional(),
  amountUnit: z.enum(CHOICES.amountUnit).optional(),
  roundVolumes: z.boolean().optional(),
  barLabel: z.enum(CHOICES.barLabel).optional(),
  period: z.enum(CHOICES.period).optional(),
  values: z.enum(CHOICES.values).optional(),
  announceLagDays: z.number().int().min(0).optional(),
  exchange: z.string().optional(),
  source: z.string().optional(),
  prices: z.enum(CHOICES.prices).optional(),
});
const saved = z.strictObject({
  barlake: z.literal("import plan"),
  table: z.string(),
  columns: z.array(z.string()),
  options: plannedOptions,
});

/** A plan in a file: files that do not fit it are refused. */
export type SavedPlan = z.output<typeof saved>;

/** Writes a plan. @throws {UsageError} where the files have several forms. */
export async function savePlan(path: string, table: string, forms: readonly FormPlan[]): Promise<void> {
  const [form] = forms;
  if (form === undefined || forms.length > 1) {
    throw new UsageError(`plan ${path}: the files have ${forms.length} forms, and a plan is of one`, {
      hint: "save a plan for the files of each form",
    });
  }
  const { symbol: _, ...decided } = form.decided;
  const plan = { barlake: "import plan", table, columns: form.columns, options: decided };
  await writeFile(path, `${JSON.stringify(plan, null, 2)}\n`);
}

/** Reads a plan. @throws {UsageError} where it is none, or is of another table. */
export async function loadPlan(path: string, table: string): Promise<SavedPlan> {
  let plan: SavedPlan;
  try {
    plan = saved.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw new UsageError(`plan ${path}: cannot be read (${messageOf(cause).split("\n")[0]})`, {
      hint: "write it with `barlake import TABLE FILE --dry-run --save-plan FILE`",
      cause,
    });
  }
  if (plan.table !== table) throw new UsageError(`plan ${path}: is for ${plan.table}, not for ${table}`);
  return plan;
}

/** @throws {UsageError} where a file's columns are not those of the plan. */
export function expectPlanned(path: string, columns: readonly string[], plan: SavedPlan): void {
  const missing = plan.columns.filter((name) => !columns.includes(name));
  const added = columns.filter((name) => !plan.columns.includes(name));
  if (missing.length === 0 && added.length === 0) return;
  const changes = [
    ...(missing.length > 0 ? [`lacks ${missing.join(", ")}`] : []),
    ...(added.length > 0 ? [`has also ${added.join(", ")}`] : []),
  ];
  throw new UsageError(`file ${path}: does not fit its plan: it ${changes.join(", and ")}`, {
    hint: "try it without the plan and without landing; if that is right, save the plan again",
  });
}
