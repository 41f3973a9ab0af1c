/** The texts that a caller attaches to a change, which stay with everything that comes of it. */

export interface Annotations {
  /** Why points change. May be empty. */
  readonly reason: string;
  /** The cause of the change, such as the id of an order or a campaign. Absent if not given. */
  readonly cause?: string | undefined;
}

/** The same with every annotation named, so that the compiler finds where one is left out. */
export type AllAnnotations = { readonly [Name in keyof Required<Annotations>]: Annotations[Name] };

/** Only the annotations of a value that has them among other fields. */
export const annotationsOf = ({ reason, cause }: Annotations): AllAnnotations => ({
  reason,
  cause,
});
