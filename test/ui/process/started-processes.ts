import { execFileSync } from "node:child_process";

/** Ids of the processes for queries that a process has started, and that have not ended. */
export function queryProcessesOf(parent: number): number[] {
  const list = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,args="], { encoding: "utf8" });
  return list.split("\n").flatMap((line) => {
    const [, pid, ppid, state = "", command = ""] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    const isOne = Number(ppid) === parent && command.includes("query-process") && !state.startsWith("Z");
    return isOne ? [Number(pid)] : [];
  });
}
