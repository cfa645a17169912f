import type { StoreAccess } from "../../db/session/store-access.js";
import type { LeaseStore } from "../../lease/lease-store.js";

/** A file in a storage. */
export interface StoredFile {
  /** Relative to the folder that was listed, with `/`. */
  readonly path: string;
  readonly size: number;
  /** Epoch milliseconds, by the clock of the storage. */
  readonly modifiedAt: number;
}

/** What a storage knows about a file without reading it. */
export interface FileFacts extends Omit<StoredFile, "path"> {
  /** A text that differs after the file was replaced. */
  readonly tag: string;
}

/** Bytes of a file: from `start` up to `end`, exclusive, or the last ones. */
export type ByteRange = { readonly start: number; readonly end: number } | { readonly last: number };

/**
 * Where a lake's tables are, and everything else that all readers and writers of the lake share: a folder, or the
 * objects of a store under one prefix. Paths are relative to the lake, with `/`. Folders exist only as prefixes of
 * paths; files are not renamed, appended to or changed in place.
 *
 * All forms guarantee:
 * - **Whole files.** A file is complete as soon as it is visible, also after a crash of a writer.
 * - **Durability.** What a resolved promise reports as written survives a crash of the machine.
 * - **Consistency.** A call, also a list, that begins after a write or a deletion has resolved in any process sees its
 *   effect.
 * - **Repetition.** A form repeats its requests where a transport fails. After an error it is unknown whether a write
 *   was done.
 *
 * A method does not use `this`. It throws where it cannot do its work; a file that does not exist is not an error.
 */
export interface Storage {
  /** The name of the lake in messages and manifests: an absolute path, or a URL. */
  readonly location: string;
  /** What a DuckDB session needs to read files of an object store; undefined where they are files of this machine. */
  readonly access: StoreAccess | undefined;
  /** Where DuckDB finds a file: a path of this machine, or a URL for which it needs {@link access}. */
  urlOf(path: string): string;
  /**
   * Names of the files directly in a folder, in the order of their UTF-16 code units; none where there is no such file.
   * The names of folders may be listed, too. The same array may be returned again while nothing has changed, also not
   * the content of the newest file (a store: of any file), so the caller must not change it.
   *
   * @param after the names up to this one are not needed, and may be left out.
   */
  list(folder: string, after?: string): Promise<readonly string[]>;
  /** All files under a folder, at any depth, in the order of their paths; none where there is no such file. */
  walk(folder: string): Promise<StoredFile[]>;
  /** @returns facts about a file without reading it; undefined where there is no such file. */
  factsOf(path: string): Promise<FileFacts | undefined>;
  /** @returns the file's text, or undefined where there is none. */
  readText(path: string): Promise<string | undefined>;
  /**
   * Opens a file to read it from its beginning. The caller iterates the pieces, to the end or until it leaves the loop.
   * A piece is valid until the next one is requested, or the iteration ends: pieces may share memory, which is freed at the
   * end. A caller that needs the bytes for longer copies them.
   *
   * @returns undefined where there is no such file.
   */
  read(path: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Reads a range of a file's bytes; fewer, or none, where the file is shorter.
   *
   * @returns undefined where there is no such file.
   */
  readRange(path: string, range: ByteRange): Promise<Buffer | undefined>;
  /**
   * Creates a file unless one of that name exists. Of all concurrent calls for a path, in all processes, at most one
   * creates the file: commits depend on it.
   *
   * @returns whether this call created it. If the transport lost the response to a write, the content is compared to
   *   find out.
   */
  putIfAbsent(path: string, text: string): Promise<boolean>;
  /** Writes a file, replacing any of that name. Readers see either the old or the new file, complete. */
  put(path: string, text: string): Promise<void>;
  /**
   * Creates a file with the content of a finished local file, as {@link putIfAbsent} does. The local file may be the
   * same file afterwards, so it must not be changed; the caller deletes it.
   *
   * @param localFile a path that {@link WorkFolder.newFile} has returned.
   * @param sha256 of the file's content, in hexadecimal digits, where it is known. A store refuses other content.
   * @returns whether this call created it.
   */
  putFileIfAbsent(localFile: string, path: string, sha256?: string): Promise<boolean>;
  /** Deletes a file, if it exists. */
  delete(path: string): Promise<void>;
  /**
   * The current time by the clock that dates the files, in epoch milliseconds; undefined where nothing was dated yet.
   */
  time(): Promise<number | undefined>;
  /** A store of leases that all processes with this storage share. @param folder where it stores their records. */
  leases(folder: string): LeaseStore;
}

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
