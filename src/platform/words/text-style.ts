/** How a text for people shows the values in it: escaped, so that none is markup or a command. */
import { withoutControls } from "./controls.ts";
import { escapeMarkdown } from "./markdown.ts";
import { formatInstant, type Instant } from "./month.ts";

export interface TextStyle {
  /** Writes what a caller has chosen, such as a name or a reason. */
  value(text: string): string;
  /** Writes what a reader may copy: an id, a digest, a command line. */
  code(text: string): string;
  time(time: Instant): string;
  /** Stresses a text that is written already. */
  strong(text: string): string;
}

/** Text without markup and times. */
export const plain: Omit<TextStyle, "time"> = {
  value: withoutControls,
  code: withoutControls,
  strong: (text) => text,
};

/** Text without markup, with times in this zone. */
export const plainText = (timeZone: string): TextStyle => ({
  ...plain,
  time: (time) => formatInstant(time, timeZone),
});

/** Markdown, with times in this zone. */
export const markdown = (timeZone: string): TextStyle => ({
  value: escapeMarkdown,
  // A backtick would end the code.
  code: (text) => (text.includes("`") ? escapeMarkdown(text) : `\`${withoutControls(text)}\``),
  time: (time) => formatInstant(time, timeZone),
  strong: (text) => `**${text}**`,
});
