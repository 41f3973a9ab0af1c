/** The kinds of reactions and of events, which records keep apart by a mark. */

/** The kind of a reaction, such as "like", as callers name it. */
export type ReactionKind = string & { readonly kindOf?: "reaction" };

/** The kind of an event as records have it: the caller's name for it, such as "comment", marked. */
type EventKind = `~${string}` & { readonly kindOf?: "event" };

/** The kind that a record has: of a reaction or of an event. */
export type StoredKind = ReactionKind | EventKind;

/** Begins the kinds of events, and no name that a caller can give to a kind of reactions. */
const eventMark = "~" as const;

/** Returns the kind of the events that callers name `name`. */
export const eventKind = (name: string): EventKind => `${eventMark}${name}` as const;

export const isEventKind = (kind: StoredKind): kind is EventKind => kind.startsWith(eventMark);

/** Returns the kind as callers name it. */
export const kindName = (kind: StoredKind): string => (isEventKind(kind) ? kind.slice(1) : kind);

/** Numbers by kind. A kind without any has no property. */
export type KindCounts = Readonly<Record<StoredKind, number>>;

export const countIn = (counts: KindCounts, kind: StoredKind): number =>
  Object.hasOwn(counts, kind) ? (counts[kind] as number) : 0;

/** The kind of a reaction for which the caller names none. */
export const defaultKind: ReactionKind = "like";
