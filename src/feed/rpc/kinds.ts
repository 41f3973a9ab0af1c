/** Reads the kinds of reactions and events in requests, one text for all that look the same. */
import { invalid } from "../../platform/messages/invalid-request.ts";
import { toNfc } from "../../platform/messages/scalars.ts";
import { defaultKind, type ReactionKind } from "../rules/kinds.ts";

/** Shows a character as an emoji. Clients send the same emoji with and without it. */
const emojiSelector = /(?<=\p{Emoji})\ufe0f/gu;

/** What joins two emoji to one. */
const joiner =
  /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\u200d(?=\p{Extended_Pictographic})/gu;

/** The tags of a regional flag. */
const flagTags = /(?<=\u{1f3f4})[\u{e0030}-\u{e007a}]+\u{e007f}/gu;

/** Characters without ink, as for texts that are displayed. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{16fe4}]/u;

/**
 * Returns a kind as it is stored: without the emoji selector, so that a heart is one kind. Without
 * it, an arrow may compose with the stroke that follows, so the form is NFC again.
 * Refusals: INVALID_REQUEST for another form of Unicode than NFC and for invisible characters,
 * which the rules of the schema cannot say.
 */
export function toKind(text: string, field = "kind"): string {
  const kind = toNfc(text, field).replace(emojiSelector, "").normalize("NFC");
  const isInvisible = invisible.test(kind.replace(joiner, "").replace(flagTags, ""));
  if (isInvisible) throw invalid(field, "has an invisible character");
  // It would set the prototype of an object that has numbers by kind.
  if (kind === "__proto__") throw invalid(field, "is reserved");
  return kind;
}

/** A kind of reactions, where empty means the default kind. */
export const toReactionKind = (text: string): ReactionKind =>
  text === "" ? defaultKind : toKind(text);

/** The kinds of a list, each once. */
export const toKinds = (texts: readonly string[], field: string): string[] => [
  ...new Set(texts.map((text, i) => toKind(text, `${field}[${i}]`))),
];
