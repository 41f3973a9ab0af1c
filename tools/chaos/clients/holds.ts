/** A client that holds points and captures or releases them, often when the holds are due. */
import {
  longHoldMs,
  type Operation,
  type Outcome,
} from "../../../test/support/models/workload-operations.ts";
import type { Calls } from "../calls.ts";
import { endingOf } from "../record.ts";
import { change } from "./operations.ts";
import { accounts } from "./points.ts";

const pauseMs = 600;

/** A minute is the least. So few tries end within the rest. */
const shortMs = 75_000;
const fewTries = 2;

/** So near to its time, the end of a hold meets the timeout. */
const nearMs = 1_000;

/** Makes holds until it shall stop. Of those that end in a short time, half are left to it. */
export async function holdPoints(calls: Calls, name: string, outcomes: Outcome[]): Promise<void> {
  const { random, over } = calls;
  const open: Operation[] = [];
  while (!over.aborted) {
    const isShort = random() < 0.4;
    const hold: Operation = {
      id: `${name}-${outcomes.length}`,
      userId: `user-${Math.floor(random() * accounts)}`,
      kind: "hold",
      points: randomPoints(calls),
      reverses: "nothing",
      until: Date.now() + (isShort ? shortMs : longHoldMs),
    };
    const outcome = await change(calls, outcomes, hold, isShort ? fewTries : undefined);
    if (isShort) open.push(hold);
    else if (endingOf(outcome) !== "refused") await end(calls, outcomes, hold);
    const due = open.findIndex(({ until = 0 }) => until < Date.now() + nearMs);
    const [near] = due < 0 ? [] : open.splice(due, 1);
    if (near && random() < 0.5) {
      await calls.pause(2 * nearMs);
      await end(calls, outcomes, near);
    }
    await calls.pause(pauseMs);
  }
}

const randomPoints = ({ random }: Calls): number => 1 + Math.floor(random() * 50);

/** Captures up to three times, or until it releases the hold. The first of them may be the last. */
async function end(calls: Calls, outcomes: Outcome[], { id, userId }: Operation): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const kind = calls.random() < 0.75 ? "capture" : "release";
    const points = randomPoints(calls);
    await change(calls, outcomes, { id: `${id}-${i}`, userId, kind, points, reverses: id });
    if (kind === "release") return;
    await calls.pause(pauseMs);
  }
}
