/** Knows the characters that no text of a caller may have, because nobody sees them. */

/**
 * Control characters, separators of lines, and the bidirectional controls, which show what follows
 * in another order. The same as in the rule `display_text` of the contract.
 */
const ranges = "\\p{Cc}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069";
const control = new RegExp(`[${ranges}]`, "u");
const controls = new RegExp(`[${ranges}]+`, "gu");

export const hasControls = (text: string): boolean => control.test(text);

/** Returns the text with a space for each run of controls. */
export const withoutControls = (text: string): string => text.replace(controls, " ");
