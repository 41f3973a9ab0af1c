/** The standard health check of gRPC. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import type { ServerState, ServerStates } from "../ports/server-states.ts";

/**
 * Answers for the whole server (empty name) and for each service by its full name. The status
 * follows from the state of the process alone and is the same for all of them. Check of an unknown
 * service is NOT_FOUND; Watch sends SERVICE_UNKNOWN and stays open. A Watch has no time limit,
 * because clients take the end of one as a sign that the server is unhealthy.
 */
export function healthService(
  services: readonly string[],
  states: ServerStates,
): ServiceImpl<typeof Health> {
  const names: ReadonlySet<string> = new Set(["", ...services]);
  return {
    check({ service }) {
      if (!names.has(service)) throw new ConnectError("there is no such service", Code.NotFound);
      return { status: statusOf(states.current) };
    },

    async *watch({ service }, { signal }) {
      let sent: Status | undefined;
      for await (const state of states.watch(signal)) {
        const status = names.has(service) ? statusOf(state) : Status.SERVICE_UNKNOWN;
        if (status !== sent) yield { status };
        sent = status;
      }
    },

    list() {
      const status = statusOf(states.current);
      return { statuses: Object.fromEntries([...names].map((name) => [name, { status }])) };
    },
  };
}

const statusOf = (state: ServerState): Status =>
  state === "SERVING" ? Status.SERVING : Status.NOT_SERVING;
