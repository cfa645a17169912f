/** What a test shows of itself if it fails: the end of a server's log, for example. */
export interface FailureNote {
  readonly subject: string;
  readonly text: () => string;
}

/** Notes of the test file that runs in this process. */
const notes = new Set<FailureNote>();

/** Shows a text with each test and hook of the file that fails from now on. @returns a function that ends it. */
export function noteOnFailure(note: FailureNote): () => void {
  notes.add(note);
  return () => notes.delete(note);
}

/** A test, or a suite with its hooks and tests. */
interface Task {
  readonly name: string;
  readonly result?: { readonly state?: string; readonly errors?: readonly unknown[] | undefined } | undefined;
  readonly tasks?: readonly Task[];
}

/** What is to be shown with a test that has ended; undefined where it has not failed. */
export function notesOfTest({ result }: Task): string | undefined {
  return result?.state === "fail" ? notesText() : undefined;
}

/** What is to be shown with the hooks of a file that has ended; undefined where none has failed. */
export function notesOfHooks(suite: Task): string | undefined {
  const hasFailed = (one: Task): boolean =>
    one.tasks !== undefined && ((one.result?.errors?.length ?? 0) > 0 || one.tasks.some(hasFailed));
  return hasFailed(suite) ? notesText() : undefined;
}

/** Ends all notes, at the end of a file. */
export function clearNotes(): void {
  notes.clear();
}

function notesText(): string | undefined {
  const shown = [...notes].map(({ subject, text }) => `${subject}:\n${text().trimEnd() || "(nothing)"}`);
  return shown.length === 0 ? undefined : shown.join("\n");
}
