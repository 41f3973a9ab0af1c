/** Mounts every service of the server with its admission and its interceptors. */
import type { ConnectRouter } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { Deps } from "../app/ports/deps.ts";
import type { Authenticate } from "../app/ports/identity.ts";
import type { ServerStates } from "../app/ports/server-states.ts";
import { BulkGrantService } from "../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { HoldService } from "../gen/meguri/holds/v1/hold_service_pb.ts";
import { NotificationService } from "../gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "../gen/meguri/testing/v1/clock_service_pb.ts";
import { bulkGrantService } from "./bulk-grants/service.ts";
import { holdService } from "./holds/service.ts";
import { notificationService } from "./notifications/service.ts";
import { pointsCommands } from "./points/commands.ts";
import { ledgerExports } from "./points/exports.ts";
import { forecasts } from "./points/forecasts.ts";
import { liabilityReports } from "./points/liability-reports.ts";
import { pointsQueries } from "./points/queries.ts";
import { verifications } from "./points/verifications.ts";
import { programService } from "./programs/service.ts";
import { reactionService } from "./reactions/service.ts";
import { reservationService } from "./reservations/service.ts";
import { admitCallers } from "./server/admission.ts";
import type { Calls } from "./server/calls.ts";
import { interceptors } from "./server/interceptors.ts";
import { mountStandardServices } from "./server/standard-services.ts";
import { compileRules } from "./server/validator.ts";
import { clockService } from "./testing/clock.ts";

/** What the services depend on. */
interface RouteDeps {
  readonly deps: Deps;
  readonly log: Logger;
  readonly authenticate: Authenticate;
  /** How many calls a second one service may send. Absent: any number. */
  readonly callsPerSecond?: number | undefined;
  /** Whether the ClockService is served. */
  readonly testClock: boolean;
  readonly calls: Calls;
  readonly states: ServerStates;
  /** Aborts when the listeners drain. */
  readonly closing: AbortSignal;
  /** How long an upload may wait for the next message of its client. */
  readonly uploadIdleMs: number;
}

/** Returns the routes of all services. Only health and reflection need no caller. */
export function routes(routeDeps: RouteDeps) {
  const { deps, log, authenticate, callsPerSecond, testClock, uploadIdleMs, calls, ...standard } =
    routeDeps;
  return (router: ConnectRouter): void => {
    const options = {
      requestGate: admitCallers({ authenticate, callsPerSecond, calls }),
      interceptors: interceptors(deps),
    };
    router.service(ProgramService, programService(deps), options);
    const points = {
      ...pointsCommands(deps),
      ...pointsQueries(deps),
      ...forecasts(deps),
      ...verifications(deps, log),
      ...liabilityReports(deps),
      ...ledgerExports(deps),
    };
    router.service(PointsService, points, options);
    router.service(ReservationService, reservationService(deps, log), options);
    router.service(HoldService, holdService(deps), options);
    router.service(ReactionService, reactionService(deps), options);
    router.service(NotificationService, notificationService(deps), options);
    router.service(BulkGrantService, bulkGrantService(deps, log, uploadIdleMs), options);
    if (testClock) router.service(ClockService, clockService(deps), options);
    compileRules(router.handlers.map(({ method }) => method));
    mountStandardServices(router, standard);
  };
}
