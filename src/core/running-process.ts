/** Whether a process runs on this machine, under any user. False for a number that is not a process id. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
