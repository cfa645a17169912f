import { messageOf, UsageError } from "../../core/errors.js";
import { type Environment, readSharedFiles, type SharedFiles } from "./profile-files.js";

/** The secrets that sign requests. No message, file or address contains them. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** Epoch milliseconds; undefined where they do not expire, or the time is not known. */
  readonly expiresAt: number | undefined;
}

/**
 * Credentials from the provider chain of the AWS SDK: single sign-on, processes that print credentials, web identity,
 * roles of containers and machines. Undefined where its package, which is optional, is not installed. @throws
 * {UsageError} where the chain finds none.
 */
async function sdkCredentials({ profile, paths }: SharedFiles): Promise<Credentials | undefined> {
  const providers = await import("@aws-sdk/credential-providers").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  });
  if (providers === undefined) return undefined;
  try {
    const [filepath, configFilepath] = paths;
    const find = providers.fromNodeProviderChain({ profile, filepath, configFilepath, ignoreCache: true });
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await find();
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt: expiration?.getTime() };
  } catch (error) {
    throw new UsageError(`no credentials for the object store in profile "${profile}": ${messageOf(error)}`, {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; aws sts get-caller-identity shows what the AWS tools find",
    });
  }
}

export interface CredentialSource {
  /** @throws {UsageError} where there are none. */
  current(): Promise<Credentials>;
  /** Drops the credentials, so that the next call finds new ones. */
  renew(): void;
}

/** How long before their expiry credentials are renewed, in milliseconds. */
const BEFORE_EXPIRY_MS = 5 * 60_000;

/**
 * Finds credentials as the AWS tools do: in the environment, then in the profile of the shared files, then with the
 * provider chain of the AWS SDK, if that is installed.
 */
export function credentialSource(env: Environment, now: () => number): CredentialSource {
  let found: Promise<Credentials> | undefined;
  const isFresh = ({ expiresAt }: Credentials): boolean =>
    expiresAt === undefined || expiresAt - now() > BEFORE_EXPIRY_MS;
  const find = (): Promise<Credentials> => {
    const finding = findCredentials(env);
    // A failure is not cached.
    finding.catch(() => {
      if (found === finding) found = undefined;
    });
    found = finding;
    return finding;
  };
  return {
    async current() {
      const known = found;
      if (known === undefined) return find();
      const credentials = await known;
      // If several callers see the same expired credentials, only the first one searches for new ones.
      return isFresh(credentials) ? credentials : found === known ? find() : (found ?? find());
    },
    renew() {
      found = undefined;
    },
  };
}

async function findCredentials(env: Environment): Promise<Credentials> {
  const ofEnvironment = pair(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN);
  if (ofEnvironment !== undefined) return ofEnvironment;
  if (env.AWS_ACCESS_KEY_ID || env.AWS_SECRET_ACCESS_KEY)
    throw new UsageError("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set", {
      hint: "set both, or neither and AWS_PROFILE",
    });
  const files = await readSharedFiles(env);
  const { profile, settings } = files;
  const ofProfile = pair(
    settings.get("aws_access_key_id"),
    settings.get("aws_secret_access_key"),
    settings.get("aws_session_token"),
  );
  if (ofProfile !== undefined) return ofProfile;
  const ofSdk = await sdkCredentials(files);
  if (ofSdk !== undefined) return ofSdk;
  throw new UsageError(
    `no credentials for the object store: neither in the environment nor in profile "${profile}"`,
    {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for single sign-on or the role of a machine, npm install @aws-sdk/credential-providers next to barlake",
    },
  );
}

function pair(
  accessKeyId: string | undefined,
  secretAccessKey: string | undefined,
  sessionToken: string | undefined,
): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  return {
    accessKeyId: accessKeyId.trim(),
    secretAccessKey: secretAccessKey.trim(),
    sessionToken: sessionToken?.trim() || undefined,
    expiresAt: undefined,
  };
}
