/** The handlers of the ClockService, which is served only with the test clock. */
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ClockService } from "../../gen/meguri/testing/v1/clock_service_pb.ts";
import { fromInstant, toInstant, toMilliseconds } from "../messages/scalars.ts";
import type { Deps } from "../ports/deps.ts";
import { advanceTime, getTime, setTime } from "../work/test-clock.ts";

export function clockService(deps: Deps): ServiceImpl<typeof ClockService> {
  return {
    getTime: async () => ({ time: fromInstant(await getTime(deps)) }),

    async setTime({ time }) {
      const instant = toInstant(time as Timestamp, "time");
      return { time: fromInstant(await setTime(deps, instant)) };
    },

    async advance({ duration }) {
      const ms = toMilliseconds(duration as Duration, "duration");
      return { time: fromInstant(await advanceTime(deps, ms)) };
    },
  };
}
