/**
 * A value that is loaded once for each version of the tables that it is derived from. Concurrent requests share one
 * load.
 */
export class VersionedLoad<T> {
  #loaded: { readonly versions: string; readonly value: Promise<T> } | undefined;

  /** The value for some versions. A failed load is not cached. */
  async of(versions: string, load: () => Promise<T>): Promise<T> {
    if (this.#loaded?.versions === versions) return this.#loaded.value;
    const loaded = { versions, value: load() };
    this.#loaded = loaded;
    try {
      return await loaded.value;
    } catch (error) {
      if (this.#loaded === loaded) this.#loaded = undefined;
      throw error;
    }
  }

  forget(): void {
    this.#loaded = undefined;
  }
}
