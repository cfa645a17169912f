/** A refusal of the operating system, in words for the user who has to act. */
export interface SystemFault {
  readonly message: string;
  readonly hint: string;
}

const OTHER_PLACE = "choose another place";
const MAKE_SPACE = "make space, then run the command again";

/** Codes of the system that a user can do something about: what they mean of a path, and what to do. */
const FAULTS: Readonly<Record<string, { readonly says: string; readonly hint: string }>> = {
  EACCES: {
    says: "this user may not use it",
    hint: `${OTHER_PLACE}, or change its owner or mode`,
  },
  EPERM: { says: "the system does not permit it", hint: OTHER_PLACE },
  EROFS: { says: "the file system is mounted read-only", hint: OTHER_PLACE },
  ENOTDIR: {
    says: "it is a file, and a folder is needed",
    hint: `${OTHER_PLACE}, or move the file away`,
  },
  EISDIR: { says: "is a folder, and a file is needed", hint: "give the name of a file in it" },
  EEXIST: { says: "it exists already", hint: "choose another name, or move it away" },
  ENOENT: { says: "it does not exist", hint: "check the path" },
  ENAMETOOLONG: { says: "the name is too long", hint: "choose a shorter one" },
  ENOSPC: { says: "the disk is full", hint: MAKE_SPACE },
  EDQUOT: { says: "the disk quota is used up", hint: MAKE_SPACE },
  EMFILE: {
    says: "too many files are open",
    hint: "raise the limit (ulimit -n), then run the command again",
  },
  EIO: { says: "the disk reports an error", hint: "check the disk, then run the command again" },
};

/** What an error of the system means; undefined for any other error, and where the system names no path. */
export function systemFaultOf(error: unknown): SystemFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = "", path, syscall } = error as NodeJS.ErrnoException;
  const fault = Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
  if (fault === undefined || path === undefined) return undefined;
  return {
    message: `${path}: ${fault.says} (${code}${syscall === undefined ? "" : `, ${syscall}`})`,
    hint: fault.hint,
  };
}
