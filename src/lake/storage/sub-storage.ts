import type { Storage } from "./storage.js";

/** A folder of a storage as a separate storage. */
export function subStorage(storage: Storage, folder: string): Storage {
  const at = (path: string): string => (path === "" ? folder : `${folder}/${path}`);
  return {
    location: storage.urlOf(folder),
    access: storage.access,
    urlOf: (path) => storage.urlOf(at(path)),
    list: (path, after) => storage.list(at(path), after),
    walk: (path) => storage.walk(at(path)),
    factsOf: (path) => storage.factsOf(at(path)),
    readText: (path) => storage.readText(at(path)),
    read: (path) => storage.read(at(path)),
    readRange: (path, range) => storage.readRange(at(path), range),
    putIfAbsent: (path, text) => storage.putIfAbsent(at(path), text),
    put: (path, text) => storage.put(at(path), text),
    putFileIfAbsent: (file, path, sha256) => storage.putFileIfAbsent(file, at(path), sha256),
    delete: (path) => storage.delete(at(path)),
    time: () => storage.time(),
    leases: (path) => storage.leases(at(path)),
  };
}
