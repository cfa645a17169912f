import { LakeError } from "../../core/errors.js";

/** The error for a version of a table that does not exist, or that a vacuum or a cleanup of the log has made unreadable. */
export class VersionGone extends LakeError {}
