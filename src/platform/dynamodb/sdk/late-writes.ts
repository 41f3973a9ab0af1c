/** Keeps a process that was stopped from sending a write long after it was decided. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ageOf, type ClockReading } from "../../ports/clock-reading.ts";
import { patienceMs } from "../../ports/engine.ts";

/** A member of inputs that copies of them keep, and that no serializer writes. */
const decision = Symbol("decision");

interface Decided {
  readonly [decision]?: ClockReading | undefined;
}

/** Adds to the input of a write when it was decided. */
export const decidedAt = <I extends object>(input: I, decided: ClockReading | undefined) => ({
  ...input,
  [decision]: decided,
});

/** The write was not sent: more time has passed since its decision than the engine's patience. */
export class LateWriteError extends Error {
  constructor() {
    super(`the write was decided more than ${patienceMs / 1_000} s ago`);
    this.name = "LateWriteError";
  }
}

/**
 * Has a client throw `LateWriteError` instead of sending a late write. It checks after the
 * signature, whose time is therefore within the patience too: so much later, and as long as the
 * store accepts a signature, the write arrives at the latest (`lateEntriesMs`).
 */
export function refuseLateWrites({ middlewareStack }: DynamoDBClient): void {
  middlewareStack.add(
    (next) => (args) => {
      const { [decision]: decided } = args.input as Decided;
      if (decided && ageOf(decided) > patienceMs) throw new LateWriteError();
      return next(args);
    },
    { step: "deserialize", name: "meguriLateWrites", priority: "low" },
  );
}
