import { workFolder } from "../../dist/lake/local/work-folder.js";
import { folderStorage } from "../../dist/lake/storage/folder-storage.js";

/** Reads of data files: they change nothing. */
const READS = new Set(["urlOf", "read", "factsOf"]);

/** Places of a lake whose process is killed at the n-th call of storage or work folder: before it, or once it is done. */
export function mortal(folder, { call, isDone }) {
  let calls = 0;
  const killing = (port) =>
    new Proxy(port, {
      get: (target, name) => {
        if (typeof target[name] !== "function" || READS.has(name)) return target[name];
        return async (...parameters) => {
          const isLast = calls++ === call;
          if (isLast && !isDone) process.kill(process.pid, "SIGKILL");
          const result = await target[name](...parameters);
          if (isLast) process.kill(process.pid, "SIGKILL");
          return result;
        };
      },
    });
  return { storage: killing(folderStorage(folder)), work: killing(workFolder(folder)) };
}
