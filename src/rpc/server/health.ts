/** The standard health check of gRPC. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";

/**
 * Answers for the whole server (empty name) and for each service. Watch is not implemented, which
 * the protocol allows: clients then poll.
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
