/** The opaque names of notifications: what the use cases need to find one, encoded as text. */
import { z } from "zod";
import type { NotificationName } from "../../app/notifications/queries.ts";
import { invalid } from "../server/errors.ts";

/** A version as keys hold it, in up to 15 digits. */
const version = z
  .int()
  .min(1)
  .lt(10 ** 15);

const parts = z.tuple([z.string(), z.string(), z.string(), z.string()], version);

/** The name of an unread notification, or, with `readVersion`, of a read one. */
export function encodeName({ ownerId, kind, target, readVersion }: NotificationName): string {
  const { type, id } = target;
  const all = [ownerId, kind, type, id, ...(readVersion === undefined ? [] : [readVersion])];
  return Buffer.from(JSON.stringify(all)).toString("base64url");
}

/** Throws INVALID_REQUEST for a text that is not the name of a notification. */
export function decodeName(name: string): NotificationName {
  const parsed = parts.safeParse(parse(name));
  if (!parsed.success) throw invalid("name", "is not the name of a notification");
  const [ownerId, kind, type, id, readVersion] = parsed.data;
  const decoded = { ownerId, kind, target: { type, id } };
  const found = readVersion === undefined ? decoded : { ...decoded, readVersion };
  // A text that decodes to the same parts in another form, or has further ones, is no name.
  if (encodeName(found) !== name || [ownerId, kind, type, id].some(isNoKey)) {
    throw invalid("name", "is not the name of a notification");
  }
  return found;
}

/** The parts of keys are joined by `#`. */
const isNoKey = (part: string): boolean => part === "" || part.includes("#");

function parse(name: string): unknown {
  try {
    return JSON.parse(Buffer.from(name, "base64url").toString());
  } catch {
    return undefined;
  }
}
