/**
 * The fields of payloads that cross Temporal, as zod schemas, and what makes a payload of fields.
 * Workflows import only types of payloads: zod would cost each run 5 ms of CPU time and 300 KB.
 */
import { z } from "zod";
import { hasControls } from "../words/controls.ts";
import { byteLength, maxReasonBytes } from "../words/display-text.ts";
import { isMonth, isTimestamp, parseInstant, parseMonth } from "../words/month.ts";
import { maxPoints } from "../words/units.ts";
import { type CamelCased, camelCased } from "./payload-names.ts";

/** A text for which `isRight` holds; the message of a refusal says what it must be. */
export function textThat(isRight: (text: string) => boolean, description: string) {
  const error = `must be ${description}`;
  return z.string(error).refine(isRight, error);
}

const textLike = (form: RegExp, description: string) =>
  textThat((text) => form.test(text), description);

/** Any text but the empty one. */
export const text = textThat((value) => value !== "", "a text that is not empty");

const visibleAscii = (most: number) =>
  textLike(new RegExp(`^[!-"$-~]{1,${most}}$`), `1 to ${most} visible ASCII characters without #`);

/** The forms of ids are those of the API: see the rules in `proto/meguri/rules`. */
export const id = visibleAscii(64);
export const userId = visibleAscii(128);
export const targetId = visibleAscii(256);

export const holdId = textLike(
  /^[!-"$-.0-~]{1,64}$/,
  "1 to 64 visible ASCII characters without # and /",
);

export const programId = textLike(
  /^[a-z0-9][a-z0-9-]{0,31}$/,
  "1 to 32 lower-case letters, digits and hyphens, not beginning with a hyphen",
);

export const targetType = textLike(
  /^[a-z0-9][a-z0-9_-]{0,19}$/,
  "1 to 20 lower-case letters, digits, hyphens and underscores, the first a letter or digit",
);

/** A text that people read, on one line. */
export function displayText(maxBytes: number, minBytes = 0) {
  const size = minBytes === 0 ? `at most ${maxBytes}` : `${minBytes} to ${maxBytes}`;
  const isRight = (value: string) =>
    byteLength(value) <= maxBytes && byteLength(value) >= minBytes && !hasControls(value);
  return textThat(isRight, `text of ${size} bytes without control characters`);
}

/** A whole number from 0 on, such as a count. */
export const whole = z.int("must be a whole number").min(0, "must be a whole number");

const pointsError = `must be a whole number from 1 to ${maxPoints}`;

/** How many points one change moves. */
export const points = z.int(pointsError).min(1, pointsError).max(maxPoints, pointsError);

const timestamp = textThat(
  isTimestamp,
  'RFC 3339 with a zone, such as "2026-12-01T00:00:00+09:00"',
);

/** A time as RFC 3339, which is read as an instant. */
export const time = timestamp.transform(parseInstant);

/** A time as RFC 3339 that is also shown as it is written: in the zone of a program. */
export const shownTime = timestamp.transform((shown) => ({ shown, instant: parseInstant(shown) }));

/** A month such as `"2026-11"`, which is read as its number. */
export const month = textThat(isMonth, "a month such as 2026-11").transform(parseMonth);

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.array(item, "must be a list").readonly();

/** A payload with these fields, whose names are in snake_case. It is read with camelCase names. */
export const payload = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z
    .object(fields, "must be an object")
    .transform((value) => camelCased<CamelCased<typeof value>>(value as never));

/** A payload of which no other field is read over: a typing mistake would change what it does. */
export const exactPayload = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z
    .strictObject(fields, {
      error: ({ code }) => (code === "invalid_type" ? "must be an object" : undefined),
    })
    .transform((value) => camelCased<CamelCased<typeof value>>(value as never));

/** The longest name that an Update or the input of a run claims. It is not verified. */
export const maxSubjectBytes = 64;

/** The person and the reason of a change by an Update. The caller's service is "temporal". */
export const changeFields = {
  /** The name of the operator, at most 64 bytes. It is not verified. */
  subject: displayText(maxSubjectBytes).optional(),
  /** At most 128 bytes. */
  reason: displayText(maxReasonBytes).optional(),
};

/** The argument of the Updates that change something. */
export const changeInput = payload(changeFields);
export type ChangeInput = z.input<typeof changeInput>;
