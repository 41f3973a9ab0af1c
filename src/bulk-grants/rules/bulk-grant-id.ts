/** The id of a bulk grant: a text in any script, in one form of Unicode. */
import { byteLength } from "../../platform/words/display-text.ts";
import { DomainError } from "../../platform/words/errors.ts";

/** The most bytes of UTF-8. */
export const maxBulkGrantIdBytes = 128;

/**
 * Without `#`, which joins the parts of keys, without controls, and at its ends without blanks and
 * invisible characters, which a cell of a sheet would lose and nobody sees. A flag may end with a
 * tag. The same as in the rule `bulk_grant_id` of the contract.
 */
const never = "#\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069";
const visible = `[^${never}\\p{Zs}\\p{Cf}\\u2800\\u3164\\uffa0]`;
const form = new RegExp(`^${visible}([^${never}]*(${visible}|\\u{e007f}))?$`, "u");

/**
 * Whether a text may be the id of a bulk grant. Another form of Unicode than NFC looks the same and
 * would be the id of another one.
 */
export const isBulkGrantId = (text: string): boolean =>
  form.test(text) && byteLength(text) <= maxBulkGrantIdBytes && text.normalize("NFC") === text;

/** What the id of a bulk grant may be, for people. */
export const bulkGrantIdRule =
  `1 to ${maxBulkGrantIdBytes} bytes in Unicode's form NFC, ` +
  "without #, controls, and blanks and invisible characters at its ends";

/** Requires the id of a bulk grant. Refusal: INVALID_REQUEST. */
export function requireBulkGrantId(text: string): void {
  if (isBulkGrantId(text)) return;
  const field = "bulk_grant_id";
  throw new DomainError("INVALID_REQUEST", `${field}: ${bulkGrantIdRule}`, { field });
}
