/** Mounts every service of the server with its interceptors. */
import type { ConnectRouter } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { Deps } from "../app/ports/deps.ts";
import { Health } from "../gen/grpc/health/v1/health_pb.ts";
import { BulkGrantService } from "../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { NotificationService } from "../gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "../gen/meguri/testing/v1/clock_service_pb.ts";
import { bulkGrantService } from "./bulk-grants/service.ts";
import { notificationService } from "./notifications/service.ts";
import { pointsCommands } from "./points/commands.ts";
import { forecasts } from "./points/forecasts.ts";
import { pointsQueries } from "./points/queries.ts";
import { verifications } from "./points/verifications.ts";
import { programService } from "./programs/service.ts";
import { reactionService } from "./reactions/service.ts";
import { reservationService } from "./reservations/service.ts";
import { healthService } from "./server/health.ts";
import { interceptors } from "./server/interceptors.ts";
import { clockService } from "./testing/clock.ts";

/** Limits the memory of a decompressed request with a sheet: 4 MiB and what encodes it. */
const sheetReadMaxBytes = 4 * 2 ** 20 + 64 * 2 ** 10;

/** What the services depend on. */
interface RouteDeps {
  readonly deps: Deps;
  readonly log: Logger;
  /** Whether the ClockService is served. */
  readonly testClock: boolean;
  /** False once the server drains. */
  isServing(): boolean;
  /** How long an upload may wait for the next message of its client. */
  readonly uploadIdleMs: number;
}

/** Returns the routes of all services. Only the health check needs no caller. */
export function routes({ deps, log, testClock, isServing, uploadIdleMs }: RouteDeps) {
  return (router: ConnectRouter): void => {
    const options = { interceptors: interceptors(log, deps.storeSilenceMs) };
    router.service(ProgramService, programService(deps), options);
    const points = {
      ...pointsCommands(deps),
      ...pointsQueries(deps),
      ...forecasts(deps),
      ...verifications(deps, log),
    };
    router.service(PointsService, points, options);
    router.service(ReservationService, reservationService(deps, log), options);
    router.service(ReactionService, reactionService(deps), options);
    router.service(NotificationService, notificationService(deps), options);
    router.service(BulkGrantService, bulkGrantService(deps, uploadIdleMs), {
      ...options,
      readMaxBytes: sheetReadMaxBytes,
    });
    if (testClock) router.service(ClockService, clockService(deps), options);
    const names = new Set(router.handlers.map(({ service }) => service.typeName));
    router.service(Health, healthService([...names], isServing));
  };
}
