import type { SessionLimits } from "../../src/ui/session/session-limits.js";

/** Limits of a session that a busy machine does not meet: a test that is not about the limit of time has none. */
export const PATIENT: SessionLimits = { timeLimitMs: 600_000 };
