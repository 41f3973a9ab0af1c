/** Signs web hooks as Standard Webhooks 1.0 say: HMAC-SHA256 over id, time and body. */
import { createHmac } from "node:crypto";
import type { OutgoingEvent } from "../ports/deliveries.ts";

const prefix = "whsec_";

/** The sizes of a key that Standard Webhooks permit, in bytes. */
const [minSize, maxSize] = [24, 64];

/** The key in a file. Throws what is wrong with it, without the secret. */
export function parseSecret(text: string): Buffer {
  const secret = text.trim();
  if (!secret.startsWith(prefix)) throw new Error(`a secret begins with ${prefix}`);
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, "base64");
  if (key.toString("base64") !== encoded) throw new Error(`a secret is ${prefix} and base64`);
  if (key.length >= minSize && key.length <= maxSize) return key;
  throw new Error(`the key of a secret has ${minSize} to ${maxSize} bytes, this one ${key.length}`);
}

/** The headers of one attempt. Each key makes a signature; a receiver needs one that is valid. */
export function signatureHeaders(
  keys: readonly Buffer[],
  { messageId, text, sendTime }: Pick<OutgoingEvent, "messageId" | "text" | "sendTime">,
): Record<string, string> {
  const seconds = Math.floor(sendTime / 1_000);
  const signed = `${messageId}.${seconds}.${text}`;
  const signatureBy = (key: Buffer): string =>
    `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  return {
    "webhook-id": messageId,
    "webhook-timestamp": String(seconds),
    "webhook-signature": keys.map(signatureBy).join(" "),
  };
}
