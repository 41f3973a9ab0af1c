/** Mounts the services that every gRPC server has: health and reflection. They need no caller. */
import type { ConnectRouter, Interceptor } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { ServerStates } from "../../app/ports/server-states.ts";
import { DomainError } from "../../domain/errors.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import * as v1 from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { admitAnyone } from "./admission.ts";
import { healthService } from "./health.ts";
import { publicInterceptors } from "./interceptors.ts";
import { reflectionService } from "./reflection.ts";
import { createServedSchema } from "./served-schema.ts";

interface StandardServicesDeps {
  readonly log: Logger;
  readonly states: ServerStates;
  /** Aborts when the listeners drain. The streams of these services then end with its reason. */
  readonly closing: AbortSignal;
  /** The most streams of each of these services that may be open at a time. */
  readonly maxStreams: number;
}

/** Mounts them for the services that the router has so far. */
export function mountStandardServices(
  router: ConnectRouter,
  { log, states, closing, maxStreams }: StandardServicesDeps,
): void {
  const services = [...new Set(router.handlers.map(({ service }) => service))];
  const names = services.map(({ typeName }) => typeName);
  const standard = [Health, v1.ServerReflection, v1alpha.ServerReflection] as const;
  const schema = createServedSchema([...services, ...standard]);
  const options = () => ({
    requestGate: admitAnyone,
    interceptors: [...publicInterceptors(log), limitStreams(maxStreams)],
    shutdownSignal: closing,
  });
  router.service(Health, healthService(names, states), options());
  router.service(v1.ServerReflection, reflectionService(schema), options());
  router.service(v1alpha.ServerReflection, reflectionService(schema), options());
}

/** Refuses streams above a limit with TOO_MANY_STREAMS. Unary calls always pass. */
function limitStreams(maxStreams: number): Interceptor {
  let open = 0;
  return (next) => (req) => {
    if (!req.stream) return next(req);
    if (open >= maxStreams) {
      throw new DomainError(
        "TOO_MANY_STREAMS",
        `this server has as many streams of ${req.service.typeName} as it may, ${maxStreams}`,
      );
    }
    open++;
    // Connect aborts the signal of every call when it ends, whether or not its stream was read.
    req.signal.addEventListener("abort", () => open--, { once: true });
    return next(req);
  };
}
