/** The units of numbers: points and milliseconds here, instants and months in month.ts. */

declare const unit: unique symbol;

/**
 * A number of one unit. A number of another unit is not assignable to it, such as a month where an
 * instant is expected; a plain number is, such as a literal or a sum.
 */
export type Unit<Name extends string> = number & { readonly [unit]?: Name };

/** A number of points: 0 or more, unless a name says that it is a change. */
export type Points = Unit<"points">;

/** A call changes 1 to this many points. */
export const maxPoints = 10 ** 9;

/** Whether so many points can be reserved. */
export const isReservable = (points: unknown): points is Points =>
  Number.isInteger(points) && Number(points) >= 1 && Number(points) <= maxPoints;

/** A span of time. */
export type Milliseconds = Unit<"milliseconds">;
