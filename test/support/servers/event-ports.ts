/** The ports of events of a server in a test. */
import { createEventReads } from "../../../src/events/runtime/event-reads.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";

export const eventPorts = (
  of: Pick<Deps, "eventLog" | "clock">,
): Pick<Deps, "eventLog" | "eventTail" | "eventStreams"> => ({
  eventLog: of.eventLog,
  ...createEventReads({ ...of, log: createLogger("test", "silent"), maxStreams: 100 }),
});
