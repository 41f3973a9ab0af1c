/** Measures how long the largest inputs of all methods stop the event loop of a server. */
import { services } from "../../test/support/fixtures/descriptors.ts";
import { sendInput } from "../../test/support/hostile/calls.ts";
import { largestInputs } from "../../test/support/hostile/largest-inputs.ts";
import { startTarget } from "../../test/support/hostile/target.ts";
import { openSession } from "../../test/support/servers/raw-grpc.ts";
import type { Benchmark } from "../benchmark.ts";
import { round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const methods = services
  .flatMap((service) => service.methods)
  .filter(({ parent }) => parent.name !== "ClockService");

/** The longest pause of all inputs, each sent by a known caller and by a stranger. */
export const hostilePause: Benchmark = {
  names: ["hostile.pause"],
  run: (scale) =>
    withStack({}, async ({ dynamo }) => {
      const target = await startTarget(dynamo.endpoint);
      const longest = { ms: 0, input: "" };
      for (const method of scale.pick(methods, methods.slice(0, 1))) {
        const session = await openSession(target.port);
        for (const token of [await target.tokenOf(method.name), undefined]) {
          for (const input of largestInputs(method)) {
            // The least of some turns, of which the first ones wait for the compiler. An input that
            // is below the longest pause so far needs no further turn.
            let least = Number.POSITIVE_INFINITY;
            for (let turn = 0; turn < scale.pick(9, 1) && least > longest.ms; turn++) {
              await target.probe();
              await sendInput(target, session, method, input, token);
              least = Math.min(least, (await target.probe()).pauseMs);
            }
            if (least > longest.ms) {
              longest.ms = least;
              longest.input = `${input.name} to ${method.name}`;
            }
          }
        }
        session.destroy();
      }
      await target.stop();
      scale.note(`the longest pause: ${longest.ms.toFixed(1)} ms by ${longest.input}`);
      return [
        {
          name: "hostile.pause",
          value: round(longest.ms),
          unit: "ms of CPU without a turn of the event loop",
          target: "<= 50",
          baseline: "",
        },
      ];
    }),
};
