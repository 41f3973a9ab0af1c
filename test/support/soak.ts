/**
 * Tells how much a soak test plays: the long form of `npm run test:soak`, on fresh seeds, or the
 * short form of `npm run check:soak`, which plays the same each time. What `npm test` plays of a
 * file that the soak plays as well is a short form, too.
 */
import type { IAsyncProperty } from "fast-check";
import { inject } from "vitest";
import { assertSeeded, assertSeeds, type Seed, seedOr } from "./models/seeded.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Which form of the soak is played; the config of `npm test` says nothing. */
    soak?: "short" | "long";
  }
}

/** Whether the long form is played. */
export const isLong = inject("soak") === "long";

/** The value of the form that is played. */
export const inForm = <T>(forms: { readonly short: T; readonly long: T }): T =>
  isLong ? forms.long : forms.short;

/** A fresh seed in the long form, and the known one in the short form. */
export const soakSeed = (known: number): number => seedOr(isLong ? null : known);

/** Checks a property on so many fresh values in at most `ms`, or on those of the known seeds. */
export const playHistories = <T>(
  property: IAsyncProperty<T>,
  { fresh, ms, known }: { readonly fresh: number; readonly ms: number; readonly known: Seed[] },
): Promise<void> => (isLong ? assertSeeded(property, fresh, ms) : assertSeeds(property, known, ms));
