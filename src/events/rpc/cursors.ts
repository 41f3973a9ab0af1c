/** Cursors of events: opaque texts that name a position in the log. */
import { invalid } from "../../platform/messages/invalid-request.ts";
import type { LogPosition } from "../ports/log.ts";

/** The version of the format, the log, the batch and the index in it. */
const form = /^1\.([0-9a-zA-Z-]{0,64})\.([1-9]\d{0,14})\.(0|[1-9]\d{0,6})$/;

export const toCursor = ({ logId, number, index }: LogPosition): string =>
  Buffer.from(`1.${logId}.${number}.${index}`).toString("base64url");

/** Reads a cursor exactly as it was made. Refusal: INVALID_REQUEST. */
export function fromCursor(cursor: string): LogPosition {
  const [, logId, number, index] = form.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (logId === undefined) throw invalid("cursor", "is not a cursor of an answer");
  const position = { logId, number: Number(number), index: Number(index) };
  if (toCursor(position) !== cursor) throw invalid("cursor", "is not a cursor of an answer");
  return position;
}
