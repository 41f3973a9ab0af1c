/** Mounts the services that every gRPC server has: health and reflection. They need no caller. */
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import * as v1 from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { ServerState, ServerStates } from "../ports/server-states.ts";
import { admitAnyone } from "./admission.ts";
import { publicInterceptors } from "./interceptors.ts";
import { reflectionService } from "./reflection.ts";
import { createServedSchema } from "./served-schema.ts";

interface StandardServicesDeps {
  readonly states: ServerStates;
  /** Aborts when the listeners drain. The streams of these services then end with its reason. */
  readonly closing: AbortSignal;
}

/** Mounts them for the services that the router has so far. */
export function mountStandardServices(
  router: ConnectRouter,
  { states, closing }: StandardServicesDeps,
): void {
  const services = [...new Set(router.handlers.map(({ service }) => service))];
  const names = services.map(({ typeName }) => typeName);
  const standard = [Health, v1.ServerReflection, v1alpha.ServerReflection] as const;
  const schema = createServedSchema([...services, ...standard]);
  const requestGate = admitAnyone();
  const options = () => ({
    requestGate,
    interceptors: publicInterceptors(),
    shutdownSignal: closing,
  });
  router.service(Health, healthService(names, states), options());
  router.service(v1.ServerReflection, reflectionService(schema), options());
  router.service(v1alpha.ServerReflection, reflectionService(schema), options());
}

/**
 * Answers for the whole server (empty name) and for each service by its full name. The status
 * follows from the state of the process alone and is the same for all of them. Check of an unknown
 * service is NOT_FOUND; Watch sends SERVICE_UNKNOWN and stays open. A Watch has no time limit,
 * because clients take the end of one as a sign that the server is unhealthy.
 */
function healthService(
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
