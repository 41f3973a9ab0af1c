/** Makes the clients of all services, and what spans several calls. */
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { Health } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { ActService } from "../../../src/gen/meguri/acts/v1/act_service_pb.ts";
import {
  BulkGrantService,
  type UploadBulkGrantRequest_HeaderSchema,
  type UploadBulkGrantResponse,
  type WatchBulkGrantResponse_Update,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import type { Event } from "../../../src/gen/meguri/events/v1/event_pb.ts";
import { EventService } from "../../../src/gen/meguri/events/v1/event_service_pb.ts";
import { HoldService } from "../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import {
  NotificationService,
  type WatchUnreadCountsResponse_Update,
} from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "../../../src/gen/meguri/testing/v1/clock_service_pb.ts";
import { type FollowedEvents, followEvents } from "./follow-events.ts";
import type { MeguriOptions } from "./options.ts";
import type { WatchOptions } from "./reopen.ts";
import type { RequestOf, ServiceClient } from "./requests.ts";
import { createMeguriTransport } from "./transport.ts";
import { type BulkGrantSheet, type UploadOptions, uploadBulkGrant } from "./upload-bulk-grant.ts";
import { type BulkGrantWatch, watchBulkGrant } from "./watch-bulk-grant.ts";
import { type OwnerWatch, watchUnreadCounts } from "./watch-unread-counts.ts";

/** The client of the EventService. */
interface EventsClient extends ServiceClient<typeof EventService> {
  /**
   * Yields events as they happen, from a cursor on, as long as it takes. Ends by an error only: a
   * refusal, such as CURSOR_EXPIRED, what `save` throws, or Canceled after the signal's abort.
   */
  follow(events: FollowedEvents, options?: WatchOptions): AsyncIterable<Event>;
}

/** The clients of all services. Their errors are ConnectErrors; `reasonOf` reads them. */
export interface Meguri {
  readonly programs: ServiceClient<typeof ProgramService>;
  readonly points: ServiceClient<typeof PointsService>;
  readonly reservations: ServiceClient<typeof ReservationService>;
  readonly holds: ServiceClient<typeof HoldService>;
  readonly reactions: ServiceClient<typeof ReactionService>;
  readonly notifications: ServiceClient<typeof NotificationService>;
  readonly bulkGrants: ServiceClient<typeof BulkGrantService>;
  /** Lists who changed what by the methods that are audited. */
  readonly acts: ServiceClient<typeof ActService>;
  readonly events: EventsClient;
  /** Moves the time of a server that runs with a test clock. Other servers do not serve it. */
  readonly clock: ServiceClient<typeof ClockService>;
  /** Says whether a server serves, by gRPC's health protocol. */
  readonly health: ServiceClient<typeof Health>;
  /** Says which services and methods a server has, by gRPC's reflection protocol. */
  readonly reflection: ServiceClient<typeof ServerReflection>;
  /**
   * Yields the unread count of each owner at once, unless its version is known, and again after
   * each change. Opens streams again as long as it takes, and yields no count twice. Ends by an
   * error only: a refusal, or Canceled after the signal's abort.
   */
  watchUnreadCounts(
    watches: readonly OwnerWatch[],
    options?: WatchOptions,
  ): AsyncIterable<WatchUnreadCountsResponse_Update>;
  /**
   * Yields a bulk grant and its progress at once and after each change, and ends when nothing more
   * is done without a call. Opens streams again as long as it takes, and yields no update twice.
   */
  watchBulkGrant(
    watch: BulkGrantWatch,
    options?: WatchOptions,
  ): AsyncIterable<WatchBulkGrantResponse_Update>;
  /** Uploads a whole sheet; with `validateOnly` in the header it is only checked. */
  uploadBulkGrant(
    header: RequestOf<typeof UploadBulkGrantRequest_HeaderSchema>,
    sheet: BulkGrantSheet,
    options?: UploadOptions,
  ): Promise<UploadBulkGrantResponse>;
  /** Closes all connections; calls and streams under way fail. */
  close(): void;
}

/** Makes a client, which connects with its first call. Throws a TypeError for unusable options. */
export function createMeguri(options: MeguriOptions): Meguri {
  const { transport, close } = createMeguriTransport(options);
  const client = <S extends DescService>(service: S): Client<S> => createClient(service, transport);
  const notifications = client(NotificationService);
  const bulkGrants = client(BulkGrantService);
  const events = client(EventService);
  return {
    programs: client(ProgramService),
    points: client(PointsService),
    reservations: client(ReservationService),
    holds: client(HoldService),
    reactions: client(ReactionService),
    notifications,
    bulkGrants,
    acts: client(ActService),
    events: {
      ...events,
      follow: (followed, watchOptions = {}) => followEvents(events, followed, watchOptions),
    },
    clock: client(ClockService),
    health: client(Health),
    reflection: client(ServerReflection),
    watchUnreadCounts: (watches, watchOptions = {}) =>
      watchUnreadCounts(notifications, watches, watchOptions),
    watchBulkGrant: (watch, watchOptions = {}) => watchBulkGrant(bulkGrants, watch, watchOptions),
    uploadBulkGrant: (header, sheet, uploadOptions = {}) =>
      uploadBulkGrant(bulkGrants, header, sheet, uploadOptions),
    close,
  };
}
