/** Signs requests to DynamoDB by Signature Version 4. The signing key is kept for its day. */
import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { escapeUriPath, type HttpRequest } from "@smithy/core/protocols";

interface Signer {
  /** Adds a signature to a request whose body is text. */
  sign(request: HttpRequest, options: { readonly signingDate: Date }): Promise<HttpRequest>;
}

/** Creates a signer that asks the SDK for credentials and region each time. */
export function createSigner({
  credentials,
  region,
}: Pick<DynamoDBClient["config"], "credentials" | "region">): Signer {
  let kept:
    | { readonly secret: string; readonly scope: string; readonly key: KeyObject }
    | undefined;

  function keyOf(secret: string, scope: string): KeyObject {
    if (kept?.secret !== secret || kept.scope !== scope) {
      const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${secret}`);
      // Node imports a key of bytes again for each signature, which takes longer than to sign.
      kept = { secret, scope, key: createSecretKey(key as Buffer) };
    }
    return kept.key;
  }

  return {
    async sign(request, { signingDate }) {
      const { path, headers, body } = request;
      const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
      const time = `${signingDate.toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
      headers["x-amz-date"] = time;
      let [tokenName, tokenLine] = ["", ""];
      if (sessionToken !== undefined) {
        headers["x-amz-security-token"] = sessionToken;
        tokenName = "x-amz-security-token;";
        tokenLine = `x-amz-security-token:${sessionToken}\n`;
      }
      const names = `content-type;host;x-amz-date;${tokenName}x-amz-target`;
      const canonical = `POST
${path === "/" ? path : escapeUriPath(path)}

content-type:${headers["content-type"]}
host:${headers.host}
x-amz-date:${time}
${tokenLine}x-amz-target:${headers["x-amz-target"]}

${names}
${sha256(body)}`;
      const scope = `${time.slice(0, 8)}/${await region()}/dynamodb/aws4_request`;
      const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`;
      const signature = hmac(keyOf(secretAccessKey, scope), toSign).toString("hex");
      const credential = `Credential=${accessKeyId}/${scope}`;
      const signed = `SignedHeaders=${names}, Signature=${signature}`;
      headers.authorization = `AWS4-HMAC-SHA256 ${credential}, ${signed}`;
      return request;
    },
  };
}

const sha256 = (text: string): string => hash("sha256", text, "hex");

const hmac = (key: string | Buffer | KeyObject, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();
