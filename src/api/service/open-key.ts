import { join } from "node:path";
import { keyIdOf, keyIdSecret } from "../../client/key/key-id.js";
import { claimKey, type KeyInUseError } from "../../client/key/key-lock.js";
import { keyNameOf } from "../../client/key/key-name.js";
import { KeyShares } from "../../client/key/key-shares.js";
import type { ResponseLimits } from "../../client/response-limits.js";
import { type ByGroup, hostOf, type LearnedRate, ServiceClient } from "../../client/service-client.js";
import { messageOf } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { type LimitsStore, openLimitsStore } from "../../lake/requests/service-limits.js";
import type { Environment } from "../../object-store/access/profile-files.js";
import { keysPlace } from "./keys-place.js";
import { stateFolder } from "./state-folder.js";

/** A service, the key for it, and how much of the key's quota is used. */
export interface KeyUse {
  readonly url: string;
  readonly apiKey: string;
  /** Requests a minute that the key permits. @default learned from refusals */
  readonly requestsPerMinute?: number | ByGroup<number> | undefined;
  /** The part of the key's quota, above 0, up to 1, where another process has the rest. @default 1 */
  readonly share?: number | undefined;
  /** How long a response may take, and how large it may be. */
  readonly responseLimits?: Partial<ResponseLimits> | undefined;
  /** What the key is used for; other processes that request the key see this text. */
  readonly purpose: string;
  readonly environment: Environment;
  readonly clock: Clock;
  /** Receives what the user should know: damaged limits, a wait for other machines. */
  readonly onNote: (text: string) => void;
}

/** A key of which other processes of this machine, and other machines, use only their shares. */
export interface OpenKey {
  readonly client: ServiceClient;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/**
 * Claims a key, or its share, and makes the client that uses it.
 *
 * @param lake the lake that the key is used for: machines that share it divide the key there.
 * @param learned requests a minute that earlier runs have learned.
 * @param onLearned called with what refusals teach.
 * @param signal ends the wait for a part of a key that other machines use.
 * @param maxWaitMs longest wait for other processes of this machine that use the key, in milliseconds; 0: none.
 * @param onInUse called when that wait begins, with the error of a call without a wait, and when it ends.
 * @throws {UsageError} where another process uses the key for longer than this one waits.
 */
export async function openKey(
  use: KeyUse,
  lake: Lake | undefined,
  {
    learned,
    onLearned,
    signal,
    maxWaitMs = 0,
    onInUse,
  }: {
    readonly learned?: ByGroup<number> | undefined;
    readonly onLearned: (learned: LearnedRate) => void;
    readonly signal?: AbortSignal | undefined;
    readonly maxWaitMs?: number | undefined;
    readonly onInUse?: ((inUse: KeyInUseError | undefined) => void) | undefined;
  },
): Promise<OpenKey> {
  const { url, apiKey, share, purpose, environment, clock, onNote } = use;
  const host = hostOf(url);
  const place = await keysPlace(lake, environment);
  const folder = join(stateFolder(environment), "keys");
  const onWait = (inUse: KeyInUseError): void => {
    onInUse?.(inUse);
    onNote(`the key for ${host} is in use by ${inUse.holders}: waiting for it`);
  };
  const lock = await claimKey({
    folder,
    host,
    apiKey,
    share,
    purpose,
    clock,
    signal,
    maxWaitMs,
    onWait,
  });
  onInUse?.(undefined);
  const joinOthers = async (): Promise<KeyShares | undefined> =>
    place &&
    KeyShares.join({
      store: place.leases(`keys/${await keyNameOf(host, apiKey)}`),
      host,
      ask: share,
      purpose,
      clock,
      signal,
      onWait: (holders) => onNote(`the key for ${host} is used by ${holders}: waiting for a part of it`),
    });
  const shares = await joinOthers().catch(async (error: unknown) => {
    await lock.release();
    throw error;
  });
  const client = new ServiceClient({
    baseUrl: url,
    apiKey,
    clock,
    share: shares?.share ?? share,
    right: shares,
    requestsPerMinute: use.requestsPerMinute,
    learned,
    // A part of a shared key comes with the requests that were sent with it.
    sentBefore: shares === undefined ? lock.sentBefore : undefined,
    limits: use.responseLimits,
    onLearned,
  });
  lock.report(() => client.quota.sentLately);
  shares?.watch(client.quota);
  return {
    client,
    lost: shares === undefined ? lock.lost : AbortSignal.any([lock.lost, shares.lost]),
    async close() {
      await client.close();
      await shares?.release().catch((error: unknown) => onNote(`key for ${host}: ${messageOf(error)}`));
      await lock.release();
    },
  };
}

/** What a lake knows of a service; the caps are those of the key. */
export async function limitsOf(
  lake: Lake,
  { url, apiKey, environment, clock }: Pick<KeyUse, "url" | "apiKey" | "environment" | "clock">,
): Promise<LimitsStore> {
  const host = hostOf(url);
  const keyId = keyIdOf(await keyIdSecret(stateFolder(environment)), host, apiKey);
  return openLimitsStore(lake.storage, { host, keyId }, clock);
}
