/** Maps the annotations of a change between messages, where an absent text is empty, and values. */
import type { Annotations } from "../words/annotations.ts";

/** The fields of a message that has annotations. */
export interface AnnotationsMessage {
  readonly reason: string;
  readonly cause: string;
}

export const toAnnotations = ({ reason, cause }: AnnotationsMessage): Annotations => ({
  reason,
  cause: cause || undefined,
});

export const fromAnnotations = ({ reason, cause = "" }: Annotations): AnnotationsMessage => ({
  reason,
  cause,
});
