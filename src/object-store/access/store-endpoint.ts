import { UsageError } from "../../core/errors.js";
import { type Environment, readSharedFiles } from "./credential-source.js";

export interface StoreEndpoint {
  /** The URL of the store, without the bucket and without a slash at its end. */
  readonly url: string;
  readonly region: string;
  /** Whether the bucket is part of the path of a request, and not of the host name. */
  readonly isPathStyle: boolean;
}

const REGION = /^[a-z0-9][a-z0-9-]{0,62}$/;

/**
 * Finds the endpoint and the region as the AWS tools do: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION,
 * AWS_DEFAULT_REGION, then the profile. Of a configured endpoint the bucket is part of the path, of AWS part of the
 * host name, unless `addressing_style` in the profile sets it. @throws {UsageError} for an endpoint that is not the URL
 * of a store, and where the region of AWS is not known.
 */
export async function findEndpoint(env: Environment, bucket: string): Promise<StoreEndpoint> {
  const { settings, services } = await readSharedFiles(env);
  const isIgnored = (
    env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS || settings.get("ignore_configured_endpoint_urls")
  )?.toLowerCase();
  const configured =
    isIgnored === "true"
      ? undefined
      : env.AWS_ENDPOINT_URL_S3 ||
        env.AWS_ENDPOINT_URL ||
        services.get("s3.endpoint_url") ||
        settings.get("endpoint_url");
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || settings.get("region");
  if (region !== undefined && !REGION.test(region))
    throw new UsageError(`region "${region}" is not the name of a region`, { hint: "set AWS_REGION" });
  const style = settings.get("s3.addressing_style")?.toLowerCase();
  if (configured !== undefined)
    return {
      url: parseEndpoint(configured),
      region: region ?? "us-east-1",
      isPathStyle: style !== "virtual",
    };
  if (region === undefined)
    throw new UsageError("region of the object store is not known", {
      hint: "set AWS_REGION, or AWS_ENDPOINT_URL_S3 for a store that is not of AWS",
    });
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  // The certificate of AWS does not cover a bucket whose name has dots or capitals.
  const isPathStyle = style === "path" || !/^[a-z0-9-]+$/.test(bucket);
  return { url: `https://s3.${region}.${domain}`, region, isPathStyle };
}

function parseEndpoint(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The URL may have a password, which the cause would show.
    throw new UsageError("endpoint of the object store is not a URL", {
      hint: "write AWS_ENDPOINT_URL_S3 like https://host:port",
    });
  }
  if (url.username !== "" || url.password !== "")
    throw new UsageError("endpoint of the object store must not contain a user or password", {
      hint: "give the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    });
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.search !== "" || url.hash !== "")
    throw new UsageError(
      `endpoint ${url.origin} of the object store is not a plain address of http or https`,
      {
        hint: "write AWS_ENDPOINT_URL_S3 like https://host:port",
      },
    );
  return (url.origin + url.pathname).replace(/\/+$/, "");
}
