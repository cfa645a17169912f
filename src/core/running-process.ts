/** Whether a process of this machine runs, of whatever user. What is no process id is of no process. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process may not be sent a signal.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
