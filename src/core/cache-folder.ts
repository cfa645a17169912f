import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The folder for what this user's programs can make again, by the XDG Base Directory Specification. */
export function cacheFolder(environment: { readonly XDG_CACHE_HOME?: string | undefined }): string {
  const { XDG_CACHE_HOME: home = "" } = environment;
  return join(isAbsolute(home) ? home : join(homedir(), ".cache"), "barlake");
}
