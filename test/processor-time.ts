import { readdirSync, readFileSync } from "node:fs";

/** Ticks of the times in /proc in a second: the same on every Linux. */
const TICKS = 100;

/**
 * The processor time that this process and those it started have used, in seconds: other programs on the machine change
 * it little. Where there is no /proc, that of this process alone.
 */
export function processorTime(): number {
  let entries: string[];
  try {
    entries = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  const children = new Map<number, { pid: number; ticks: number }[]>();
  for (const entry of entries) {
    const { parent, ticks } = statOf(entry);
    const pid = Number(entry);
    if (pid === process.pid) children.set(0, [{ pid, ticks }]);
    else children.set(parent, [...(children.get(parent) ?? []), { pid, ticks }]);
  }
  const ticksOf = (parent: number): number =>
    (children.get(parent) ?? []).reduce((sum, { pid, ticks }) => sum + ticks + ticksOf(pid), 0);
  return ticksOf(0) / TICKS;
}

/** The parent of a process, and its time in ticks with that of its children that have ended. */
function statOf(pid: string): { parent: number; ticks: number } {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // It has just ended: its parent has its time, or will have it.
    return { parent: -1, ticks: 0 };
  }
  // The name of the program is in brackets, and may have any character.
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [, parent = -1] = fields;
  return { parent, ticks: fields.slice(11, 15).reduce((sum, part) => sum + part, 0) };
}
