/** Escapes what callers wrote in texts that Temporal's Web UI renders as Markdown. */
import { withoutControls } from "./controls.ts";

/**
 * The characters that begin or end emphasis, code, links, images, HTML, strikethrough and entities.
 * An underscore within a word, as in ACCOUNT_FROZEN, does none of it.
 */
const markup = /[\\`*[\]<>&~]|(?<![a-z0-9])_|_(?![a-z0-9])/gi;

/** The characters by which some renderers make links of texts without markup. */
const addresses = /:(?=\/\/)|(?<=\bwww)\./gi;

/**
 * Returns Markdown, for a place inside a line, that shows `text` as it is. Control characters
 * become spaces, so that a value cannot pass for another line.
 */
export const escapeMarkdown = (text: string): string =>
  withoutControls(text).replace(markup, "\\$&").replace(addresses, "\\$&");
