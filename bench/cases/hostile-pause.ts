/** Measures how long the largest inputs of all methods stop the event loop of a server. */
import { methodsWithoutClock } from "../../test/support/fixtures/descriptors.ts";
import { sendInput } from "../../test/support/hostile/calls.ts";
import { largestInputs } from "../../test/support/hostile/largest-inputs.ts";
import { startTarget } from "../../test/support/hostile/target.ts";
import { openSession } from "../../test/support/servers/raw-grpc.ts";
import type { Benchmark } from "../benchmark.ts";
import { round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

/** How often an input is sent; its shortest pause counts, because the compiler delays the first. */
const turns = 9;

/** The longest pause of all inputs, each sent by a known caller and by a stranger. */
export const hostilePause: Benchmark = {
  names: ["hostile.pause"],
  run: (scale) =>
    withStack({}, async ({ dynamo }) => {
      const target = await startTarget(dynamo.endpoint);
      let longest = 0;
      let longestInput = "";
      /** The shortest pause of some turns. One that is below the longest so far needs no more. */
      async function pauseOf(send: () => Promise<unknown>): Promise<number> {
        let least = Number.POSITIVE_INFINITY;
        for (let turn = 0; turn < scale.pick(turns, 1) && least > longest; turn++) {
          await target.probe();
          await send();
          least = Math.min(least, (await target.probe()).pauseMs);
        }
        return least;
      }
      for (const method of scale.pick(methodsWithoutClock, methodsWithoutClock.slice(0, 1))) {
        const session = await openSession(target.port);
        for (const token of [await target.tokenOf(method.name), undefined]) {
          for (const input of largestInputs(method)) {
            const pause = await pauseOf(() => sendInput(target, session, method, input, token));
            if (pause <= longest) continue;
            longest = pause;
            longestInput = `${input.name} to ${method.name}`;
          }
        }
        session.destroy();
      }
      await target.stop();
      scale.note(`the longest pause: ${longest.toFixed(1)} ms by ${longestInput}`);
      return [
        {
          name: "hostile.pause",
          value: round(longest),
          unit: "ms of CPU without a turn of the event loop",
          target: "<= 50",
          baseline: "",
        },
      ];
    }),
};
