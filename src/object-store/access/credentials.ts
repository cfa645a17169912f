/** The secrets that sign requests. No message, file or address contains them. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** Epoch milliseconds; undefined where they do not expire, or the time is not known. */
  readonly expiresAt: number | undefined;
}
