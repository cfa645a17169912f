import { messageOf, UsageError } from "../../core/errors.js";
import type { Credentials } from "./credentials.js";
import type { SharedFiles } from "./profile-files.js";

/**
 * Gets credentials from the provider chain of the AWS SDK. It supports single sign-on, processes that print
 * credentials, web identity, and the roles of containers and machines.
 *
 * @returns undefined where its package, which is optional, is not installed.
 * @throws {UsageError} where the chain finds no credentials.
 */
export async function sdkCredentials({ profile, paths }: SharedFiles): Promise<Credentials | undefined> {
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
