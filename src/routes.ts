/** Mounts every service of the server with its admission and its interceptors. */
import type { ConnectRouter } from "@connectrpc/connect";
import type { Logger } from "pino";
import { actService } from "./acts/rpc/service.ts";
import { bulkGrantService } from "./bulk-grants/rpc/service.ts";
import { eventService } from "./events/rpc/service.ts";
import { notificationService } from "./feed/rpc/notifications/service.ts";
import { reactionService } from "./feed/rpc/reactions/service.ts";
import { ActService } from "./gen/meguri/acts/v1/act_service_pb.ts";
import { BulkGrantService } from "./gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { EventService } from "./gen/meguri/events/v1/event_service_pb.ts";
import { HoldService } from "./gen/meguri/holds/v1/hold_service_pb.ts";
import { NotificationService } from "./gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "./gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "./gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "./gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "./gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "./gen/meguri/testing/v1/clock_service_pb.ts";
import { holdLedger } from "./holds/rpc/ledger.ts";
import { holdService } from "./holds/rpc/service.ts";
import type { Deps } from "./hub/deps.ts";
import { admitCallers } from "./platform/edge/admission.ts";
import type { Calls } from "./platform/edge/calls.ts";
import { interceptors } from "./platform/edge/interceptors.ts";
import { mountStandardServices } from "./platform/edge/standard-services.ts";
import { clockService } from "./platform/edge/testing-clock.ts";
import { compileRules } from "./platform/edge/validator.ts";
import type { Authenticate } from "./platform/ports/identity.ts";
import type { ServerStates } from "./platform/ports/server-states.ts";
import { pointsCommands } from "./points/rpc/commands.ts";
import { programJobs } from "./points/rpc/jobs.ts";
import { programService } from "./points/rpc/programs/service.ts";
import { ledgers } from "./points/rpc/queries.ts";
import { accountVerification } from "./points/rpc/verify-account.ts";
import { balances, forecasts } from "./reservations/rpc/balances.ts";
import { reservationService } from "./reservations/rpc/service.ts";

/** The dependencies of the services. */
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
      ...ledgers(deps),
      ...holdLedger(deps),
      ...balances(deps),
      ...forecasts(deps),
      ...accountVerification(deps, log),
      ...programJobs(deps),
    };
    router.service(PointsService, points, options);
    router.service(ReservationService, reservationService(deps, log), options);
    router.service(HoldService, holdService(deps), options);
    router.service(ReactionService, reactionService(deps), options);
    router.service(NotificationService, notificationService(deps), options);
    router.service(BulkGrantService, bulkGrantService(deps, uploadIdleMs), options);
    router.service(ActService, actService(deps), options);
    router.service(EventService, eventService(deps), options);
    if (testClock) router.service(ClockService, clockService(deps), options);
    compileRules(router.handlers.map(({ method }) => method));
    mountStandardServices(router, standard);
  };
}
