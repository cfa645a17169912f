import { messageOf, UsageError } from "../../core/errors.js";
import type { Credentials } from "./credentials.js";

/** The part of `@aws-sdk/credential-providers` that is used. */
interface CredentialProviders {
  fromNodeProviderChain(options: { profile?: string }): () => Promise<{
    accessKeyId: string;
    secretAccessKey: string;
    sessionToken?: string;
    expiration?: Date;
  }>;
}

/** It is optional: its name is not a literal, so that neither the compiler nor Node needs it. */
const PACKAGE: string = "@aws-sdk/credential-providers";

/**
 * Asks the provider chain of the AWS SDK. It knows single sign-on, processes that print credentials, web identity, and
 * the roles of containers and machines.
 *
 * @returns undefined where the package is not installed.
 * @throws {UsageError} where the chain finds none.
 */
export async function sdkCredentials(profile: string): Promise<Credentials | undefined> {
  let providers: CredentialProviders;
  try {
    providers = (await import(PACKAGE)) as CredentialProviders;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
  try {
    const found = await providers.fromNodeProviderChain({ profile })();
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found;
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt: expiration?.getTime() };
  } catch (error) {
    throw new UsageError(`no credentials for the object store in profile "${profile}": ${messageOf(error)}`, {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; aws sts get-caller-identity shows what the AWS tools find",
    });
  }
}
