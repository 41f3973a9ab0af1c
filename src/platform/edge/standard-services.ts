/** Mounts the services that every gRPC server has: health and reflection. They need no caller. */
import type { ConnectRouter } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import * as v1 from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { ServerStates } from "../ports/server-states.ts";
import { admitAnyone } from "./admission.ts";
import { healthService } from "./health.ts";
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
