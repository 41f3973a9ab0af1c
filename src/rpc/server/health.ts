import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";

/**
 * gRPC's health check, of the whole server (empty name) and of each service. Watch is not
 * implemented, which the protocol allows: clients then ask again.
 */
export function healthService(
  services: readonly string[],
  isServing: () => boolean,
): Pick<ServiceImpl<typeof Health>, "check"> {
  return {
    check({ service }) {
      if (service !== "" && !services.includes(service)) {
        throw new ConnectError("there is no such service", Code.NotFound);
      }
      return { status: isServing() ? Status.SERVING : Status.NOT_SERVING };
    },
  };
}
