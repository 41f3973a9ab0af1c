/** Maps the annotations of a change between messages, where an absent text is empty, and values. */
import type { AllAnnotations, Annotations } from "../words/annotations.ts";

/** The fields of a message that has annotations. */
export type AnnotationsMessage = { readonly [Name in keyof AllAnnotations]: string };

export const toAnnotations = ({ reason, cause }: AnnotationsMessage): AllAnnotations => ({
  reason,
  cause: cause || undefined,
});

export const fromAnnotations = ({ reason, cause = "" }: Annotations): AnnotationsMessage => ({
  reason,
  cause,
});
