/** Signs requests to DynamoDB by Signature Version 4, with a signing key that is kept for its day. */
import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { escapeUriPath, type HttpRequest } from "@smithy/core/protocols";

interface SigningKey {
  readonly secret: string;
  readonly scope: string;
  readonly key: KeyObject;
}

interface Signer {
  /** Adds the headers of a signature to a request whose body is text. */
  sign(request: HttpRequest, options: { readonly signingDate: Date }): Promise<HttpRequest>;
}

/** Creates a signer that asks the SDK for credentials and region each time. */
export function createSigner({
  credentials,
  region,
}: Pick<DynamoDBClient["config"], "credentials" | "region">): Signer {
  let kept: SigningKey | undefined;

  /** A KeyObject, because a key in bytes is imported for each signature, which takes longer. */
  function keyOf(secret: string, scope: string): KeyObject {
    if (kept?.secret !== secret || kept.scope !== scope) {
      const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${secret}`);
      kept = { secret, scope, key: createSecretKey(key as Buffer) };
    }
    return kept.key;
  }

  return {
    async sign(request, { signingDate }) {
      const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
      const time = signingDate.toISOString().replace(/[-:]|\.\d+/g, "");
      const scope = `${time.slice(0, 8)}/${await region()}/dynamodb/aws4_request`;
      const signed = signedHeaders(request, time, sessionToken);
      const names = Object.keys(signed).join(";");
      const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical(request, signed, names))}`;
      const signature = hmac(keyOf(secretAccessKey, scope), toSign).toString("hex");
      const credential = `Credential=${accessKeyId}/${scope}`;
      Object.assign(request.headers, signed, {
        authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`,
      });
      return request;
    },
  };
}

/** The headers that are signed, in the order of their names. */
function signedHeaders(
  { headers }: HttpRequest,
  time: string,
  token: string | undefined,
): Record<string, string> {
  return {
    "content-type": headers["content-type"] ?? "",
    host: headers.host ?? "",
    "x-amz-date": time,
    ...(token !== undefined && { "x-amz-security-token": token }),
    "x-amz-target": headers["x-amz-target"] ?? "",
  };
}

/** The canonical request, in which a path is encoded once more than in the request. */
function canonical(
  { path, body }: HttpRequest,
  signed: Readonly<Record<string, string>>,
  names: string,
): string {
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  return `POST\n${escapeUriPath(path)}\n\n${lines.join("")}\n${names}\n${sha256(body)}`;
}

const sha256 = (text: string): string => hash("sha256", text, "hex");

const hmac = (key: string | Buffer | KeyObject, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();
