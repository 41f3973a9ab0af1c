/** The opaque ids of notifications: what the use cases need to find one, encoded as text. */
import { z } from "zod";
import { invalid } from "../../../platform/messages/invalid-request.ts";
import type { GroupName } from "../../use-cases/notifications/named-groups.ts";

/** A version as keys hold it, in up to 15 digits. */
const version = z
  .int()
  .min(1)
  .lt(10 ** 15);

const parts = z.tuple([z.string(), z.string(), z.string(), z.string(), version]);

/** The id of a notification, which is the same while it is unread and when it is read. */
export function encodeId({ ownerId, kind, target, generation }: GroupName): string {
  const { type, id } = target;
  return Buffer.from(JSON.stringify([ownerId, kind, type, id, generation])).toString("base64url");
}

/** Throws INVALID_REQUEST for a text that is not the id of a notification of this owner. */
export function decodeId(text: string, owner: string): GroupName {
  const parsed = parts.safeParse(parse(text));
  if (!parsed.success) throw notAnId();
  const [ownerId, kind, type, id, generation] = parsed.data;
  const found = { ownerId, kind, target: { type, id }, generation };
  // A text that decodes to the same parts in another form, or has further ones, is no id.
  if (encodeId(found) !== text || [kind, type, id].some(isNoKey)) throw notAnId();
  if (ownerId !== owner) throw notAnId();
  return found;
}

const notAnId = () => invalid("notification_id", "is not the id of a notification of this owner");

/** The parts of keys are joined by `#`. */
const isNoKey = (part: string): boolean => part === "" || part.includes("#");

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
}
