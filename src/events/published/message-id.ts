/** Names events for receivers that drop what comes twice by a header, without reading the body. */
import { createHash } from "node:crypto";
import type { Event } from "./event.ts";

/**
 * The same for each attempt, and another one for the same id of another source: the ledgers of
 * restored tables give ids again. A hash, because both may be too long for a receiver.
 */
export const messageIdOf = ({ source, id }: Pick<Event, "source" | "id">): string =>
  createHash("sha256").update(`${source} ${id}`).digest("base64url");
