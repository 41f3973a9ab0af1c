/** Calls every RPC of every service with another gRPC implementation and its own Protobuf. */
import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import * as grpc from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { formatMonth, monthAt } from "../../../src/platform/words/month.ts";
import { etagOf } from "../../../src/platform/work/etags.ts";
import { descriptorSet, services } from "../../support/fixtures/descriptors.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
const clients = new Map<string, grpc.Client>();
const definitions = loadFileDescriptorSetFromBuffer(
  descriptorSet(services.map(({ file }) => file)),
  { longs: String, enums: String, defaults: true, keepCase: true },
);

beforeAll(async () => {
  server = await startMemoryServer();
  for (const { typeName } of services) {
    const Client = grpc.makeClientConstructor(
      definitions[typeName] as grpc.ServiceDefinition,
      typeName,
    );
    const address = `127.0.0.1:${server.port}`;
    clients.set(typeName, new Client(address, grpc.credentials.createInsecure()));
  }
});
afterAll(async () => {
  for (const client of clients.values()) client.close();
  await server.stop();
});

type Answer = Record<string, unknown>;
/** A request, or what makes it of earlier answers once it is sent. */
type Request = Answer | (() => Answer);
type UnaryMethod = (
  request: Answer,
  metadata: grpc.Metadata,
  done: (error: grpc.ServiceError | null, answer: Answer) => void,
) => void;
type StreamMethod = (request: Answer, metadata: grpc.Metadata) => grpc.ClientReadableStream<Answer>;
type UploadMethod = (
  metadata: grpc.Metadata,
  done: (error: grpc.ServiceError | null, answer: Answer) => void,
) => grpc.ClientWritableStream<Answer>;

/**
 * Calls `meguri.points.v1.PointsService/GrantPoints`; of a stream it reads one message. An upload
 * sends the messages of its request.
 */
function call(method: string, request: Request, caller = "grpc-js"): Promise<Answer> {
  const [service, name] = method.split("/") as [string, string];
  const client = clients.get(service) as unknown as Record<
    string,
    UnaryMethod & StreamMethod & UploadMethod
  >;
  const message = typeof request === "function" ? request() : request;
  const metadata = new grpc.Metadata();
  if (caller) metadata.set("meguri-caller", caller);
  const definition = (definitions[service] as grpc.ServiceDefinition)[name];
  return new Promise((resolve, reject) => {
    const done = (error: grpc.ServiceError | null, answer: Answer) =>
      error ? reject(error) : resolve(answer);
    if (definition?.requestStream) {
      const stream = client[name]?.(metadata, done);
      for (const each of message.messages as Answer[]) stream?.write(each);
      stream?.end();
      return;
    }
    if (definition?.responseStream) {
      const stream = client[name]?.(message, metadata);
      stream?.on("error", reject).once("data", (answer) => {
        resolve(answer);
        stream.cancel();
      });
      return;
    }
    client[name]?.(message, metadata, done);
  });
}

const account = { user_id: "u" };
const reservation = { reservation_id: "r" };
const hold = { ...account, hold_id: "h" };
/** By the real clock, by which holds time out. */
const tomorrow = { seconds: String(Math.floor(Date.now() / 1_000) + 86_400), nanos: 0 };
const target = { type: "post", id: "t" };
/** Of the preferences of an owner without any. */
const etag = etagOf([false, [], []]);
const nextMonth = formatMonth(monthAt("Asia/Tokyo", Date.now()) + 1);
const later = { seconds: "1900000000", nanos: 0 };
const far = { seconds: "9900000000", nanos: 0 };
/** An instant of the wall clock: the test clock moves only the calendar of points. */
const now = { seconds: expect.stringMatching(/^\d{10}$/), nanos: expect.any(Number) };
/** What the notifications of one person about the target have in common. */
const unread = {
  notification_id: expect.stringMatching(/^.{1,512}$/),
  target: { target_name: target, title: "巡り" },
  actor_count: "1",
  create_time: now,
  update_time: now,
  read_time: null,
  expire_time: null,
};
/** The opaque id of the like's notification, as ListNotifications has answered it. */
let likeId = "";

/** A request and its answer for every RPC, in an order in which each changes or finds records. */
const calls: Record<string, [request: Request, answer: Answer]> = {
  "meguri.testing.v1.ClockService/SetTime": [
    { time: { seconds: "1780000000" } },
    { time: { seconds: "1780000000" } },
  ],
  "meguri.testing.v1.ClockService/Advance": [
    { duration: { seconds: "60" } },
    { time: { seconds: "1780000060" } },
  ],
  "meguri.testing.v1.ClockService/GetTime": [{}, { time: { seconds: "1780000060" } }],
  "meguri.programs.v1.ProgramService/CreateProgram": [
    { program_id: "p", time_zone: "UTC", lifetime_months: 3 },
    { program: { program_id: "p", time_zone: "UTC", lifetime_months: 3 }, replayed: false },
  ],
  "meguri.programs.v1.ProgramService/GetProgram": [
    { program_id: "p" },
    { program: { program_id: "p" } },
  ],
  "meguri.programs.v1.ProgramService/ListPrograms": [
    { page_size: 1 },
    { programs: [{ program_id: "default" }] },
  ],
  "meguri.programs.v1.ProgramService/UpdateProgram": [
    {
      program: { program_id: "p", lifetime_months: 4 },
      update_mask: { paths: ["lifetime_months"] },
    },
    { program: { lifetime_months: 3, rules_change: { rules: { lifetime_months: 4 } } } },
  ],
  "meguri.programs.v1.ProgramService/ApproveRulesChange": [
    { program_id: "default", digest: "d".repeat(43) },
    { refused: "DIGEST_MISMATCH" },
  ],
  "meguri.programs.v1.ProgramService/RejectRulesChange": [
    { program_id: "default", digest: "d".repeat(43) },
    { refused: "DIGEST_MISMATCH" },
  ],
  "meguri.programs.v1.ProgramService/ListRulesChanges": [
    { program_id: "default" },
    { rules_changes: [], next_page_token: "" },
  ],
  "meguri.points.v1.PointsService/GrantPoints": [
    { ...account, event_id: "g", points: "100", reason: "hello" },
    {
      available_points: "100",
      entry: {
        type: "TYPE_ISSUED",
        caller: { service: "grpc-js", subject: "grpc-js" },
        reason: "hello",
      },
    },
  ],
  "meguri.points.v1.PointsService/UsePoints": [
    { ...account, event_id: "u", points: "30" },
    { available_points: "70", entry: { number: "2" } },
  ],
  "meguri.points.v1.PointsService/RefundPoints": [
    {
      ...account,
      event_id: "r",
      use_event_id: "u",
      points: "10",
      expired_points_policy: "EXPIRED_POINTS_POLICY_CURRENT_MONTH",
    },
    { available_points: "80", entry: { related_event: { event_id: "u" } } },
  ],
  "meguri.holds.v1.HoldService/HoldPoints": [
    { ...hold, points: "3", until: tomorrow, reason: "order" },
    { hold: { state: "STATE_HELD", points: "3", until: tomorrow }, available_points: "77" },
  ],
  "meguri.holds.v1.HoldService/CapturePoints": [
    { ...hold, event_id: "c", points: "2", more_captures_follow: true },
    { hold: { captured_points: "2", captures_left: 999 }, available_points: "77" },
  ],
  "meguri.holds.v1.HoldService/ReleaseHold": [
    hold,
    { hold: { state: "STATE_RELEASED", released_points: "1" }, available_points: "78" },
  ],
  "meguri.holds.v1.HoldService/GetHold": [
    { hold_id: "h" },
    {
      hold: { entry_number: "4", release_entry_number: "6", creator: { service: "grpc-js" } },
      captures: [{ event_id: "c", points: "2", entry_number: "5" }],
    },
  ],
  "meguri.holds.v1.HoldService/ListHolds": [
    { ...account, state: "STATE_RELEASED" },
    { holds: [{ hold_id: "h" }], next_page_token: "" },
  ],
  "meguri.points.v1.PointsService/RevokePoints": [
    { ...account, event_id: "v", grant_event: { event_id: "g" } },
    { available_points: "0", entry: { points: "78" } },
  ],
  "meguri.points.v1.PointsService/ExtendExpiry": [
    { ...account, event_id: "x", grant_event: { event_id: "g" }, expire_month: nextMonth },
    { entry: { type: "TYPE_EXTENDED", points: "0" } },
  ],
  "meguri.points.v1.PointsService/FreezeAccount": [
    { ...account, event_id: "f" },
    { entry: { type: "TYPE_FROZEN" } },
  ],
  "meguri.points.v1.PointsService/UnfreezeAccount": [
    { ...account, event_id: "t" },
    { entry: { type: "TYPE_UNFROZEN" } },
  ],
  "meguri.acts.v1.ActService/ListActs": [
    { create_time_from: { seconds: "1780000000" }, subject: "grpc-js" },
    {
      acts: expect.arrayContaining([
        expect.objectContaining({
          method: "UnfreezeAccount",
          via: "VIA_CALL",
          changes: [{ field: "frozen", before: "true", after: "false" }],
        }),
      ]),
      next_page_token: "",
    },
  ],
  "meguri.events.v1.EventService/ReadEvents": [
    { types: ["points.issued"] },
    { events: [], cursor: expect.any(String), at_end: true },
  ],
  "meguri.events.v1.EventService/WatchEvents": [
    { types: ["points.issued"] },
    { events: [], cursor: expect.any(String), end: null },
  ],
  "meguri.points.v1.PointsService/GetBalance": [
    account,
    {
      balance: {
        available_points: "0",
        totals: { issued_points: "100", used_points: "30", revoked_points: "78" },
      },
    },
  ],
  "meguri.points.v1.PointsService/GetForecast": [
    { ...account, time: later },
    {
      forecast: {
        available_points: "0",
        current_available_points: "0",
        changes: [],
        frozen: false,
      },
    },
  ],
  "meguri.points.v1.PointsService/ListLedgerEntries": [
    { ...account, page_size: 1 },
    { entries: [{ number: "10" }] },
  ],
  "meguri.points.v1.PointsService/GetLedgerEntry": [
    { ...account, number: "1" },
    { entry: { event: { event_id: "g", origin: "EVENT_ORIGIN_CALLER" } } },
  ],
  "meguri.points.v1.PointsService/VerifyAccount": [
    { ...account, repair: true },
    { differences: [], entry_count: "10", repaired: false },
  ],
  "meguri.points.v1.PointsService/VerifyProgram": [
    { job_id: "v" },
    { verification: { job: { state: "STATE_RUNNING" } }, replayed: false },
  ],
  "meguri.points.v1.PointsService/GetProgramVerification": [
    { job_id: "v" },
    { verification: { job: { program_id: "default" } } },
  ],
  "meguri.points.v1.PointsService/ListProgramVerifications": [
    {},
    { verifications: [{ job: { job_id: "v" } }] },
  ],
  "meguri.points.v1.PointsService/CreateLiabilityReport": [
    { job_id: "2026-11", since: { seconds: 1 } },
    { report: { job: { state: "STATE_RUNNING", job_id: "2026-11" } }, replayed: false },
  ],
  "meguri.points.v1.PointsService/GetLiabilityReport": [
    { job_id: "2026-11" },
    { report: { job: { state: "STATE_RUNNING" } } },
  ],
  "meguri.points.v1.PointsService/ListLiabilityReports": [
    {},
    { liability_reports: [{ job: { job_id: "2026-11" } }] },
  ],
  "meguri.points.v1.PointsService/ExportLedger": [
    { job_id: "e", destination: "audit", create_time_before: { seconds: "1" } },
    {
      ledger_export: {
        job: { state: "STATE_RUNNING" },
        ...{ folder: "default/e", entry_count: "0" },
      },
    },
  ],
  "meguri.points.v1.PointsService/GetLedgerExport": [
    { job_id: "e" },
    { ledger_export: { job: { workflow_id: "export-ledger/default/e" } } },
  ],
  "meguri.points.v1.PointsService/ListLedgerExports": [
    {},
    { ledger_exports: [{ job: { job_id: "e" } }] },
  ],
  "meguri.reservations.v1.ReservationService/CreateReservation": [
    { ...reservation, ...account, points: "5", execute_time: later },
    { reservation: { state: "STATE_PENDING", execute_time: later, points: "5" } },
  ],
  "meguri.reservations.v1.ReservationService/BatchCreateReservations": [
    {
      reservations: [
        { reservation_id: "b", user_id: "batch", points: "5", execute_time: later },
        { reservation_id: "c", user_id: "batch", points: "5", execute_time: far },
      ],
    },
    {
      results: [
        { created: { reservation: { reservation_id: "b" }, replayed: false } },
        { error: { reason: "INVALID_REQUEST", retryable: false } },
      ],
    },
  ],
  "meguri.reservations.v1.ReservationService/GetReservation": [
    reservation,
    {
      reservation: {
        user_id: "u",
        creator: { service: "grpc-js", subject: "grpc-js" },
        last_change: null,
        lateness: null,
      },
    },
  ],
  "meguri.reservations.v1.ReservationService/ListReservations": [
    { user_id: "u" },
    { reservations: [{ reservation_id: "r" }], next_page_token: "" },
  ],
  "meguri.reservations.v1.ReservationService/RescheduleReservation": [
    { ...reservation, execute_time: { seconds: "1900000001", nanos: 5_999_999 } },
    { reservation: { execute_time: { seconds: "1900000001", nanos: 5_000_000 } } },
  ],
  "meguri.reservations.v1.ReservationService/ChangeReservationPoints": [
    { ...reservation, points: "7" },
    { reservation: { points: "7", cause: "" } },
  ],
  "meguri.reservations.v1.ReservationService/CancelReservation": [
    reservation,
    { reservation: { state: "STATE_CANCELLED" } },
  ],
  "meguri.reservations.v1.ReservationService/RetryReservation": [
    reservation,
    { refused: "WRONG_STATE" },
  ],
  "meguri.reservations.v1.ReservationService/CancelReservations": [
    { user_id: "batch", reason: "left" },
    { cancelled_count: 1, cancelled_points: "5", reservation_ids: ["b"], next_page_token: "" },
  ],
  "meguri.reservations.v1.ReservationService/PauseProgramReservations": [
    { program_id: "p", reason: "wrong points" },
    {
      program: {
        reservation_pause: {
          caller: { service: "grpc-js", subject: "grpc-js" },
          reason: "wrong points",
        },
      },
    },
  ],
  "meguri.reservations.v1.ReservationService/ResumeProgramReservations": [
    { program_id: "p" },
    { program: { program_id: "p", reservation_pause: null } },
  ],
  "meguri.reactions.v1.ReactionService/RegisterTarget": [
    { target_name: target, owner_id: "o", title: "巡り", link: "/t" },
    {
      target: { target_name: target, owner_id: "o", title: "巡り", link: "/t", delete_time: null },
    },
  ],
  "meguri.reactions.v1.ReactionService/React": [
    { target_name: target, user_id: "u", display_name: "U" },
    { changed: true, reaction_count: "1" },
  ],
  "meguri.reactions.v1.ReactionService/BatchGetReactionSummaries": [
    { target_names: [target], viewer_id: "u" },
    {
      summaries: [
        {
          state: "STATE_ACTIVE",
          counts: [{ kind: "like", reaction_count: "1", viewer_reacted: true }],
        },
      ],
    },
  ],
  "meguri.reactions.v1.ReactionService/ListTargetReactions": [
    { target_name: target },
    { reactions: [{ user_id: "u", display_name: "U", kind: "like" }], next_page_token: "" },
  ],
  "meguri.reactions.v1.ReactionService/ListUserReactions": [
    { user_id: "u" },
    { reactions: [{ target_name: target, user_id: "u", display_name: "U" }] },
  ],
  "meguri.notifications.v1.NotificationService/Notify": [
    { target_name: target, event_id: "e", kind: "comment", user_id: "w", display_name: "W" },
    { notified: true, replayed: false, results: [{ owner_id: "o", notified: true }] },
  ],
  "meguri.notifications.v1.NotificationService/RetractEvent": [
    { target_name: target, event_id: "f", owner_ids: ["o"] },
    { refused: "EVENT_NOT_FOUND" },
  ],
  "meguri.notifications.v1.NotificationService/WatchUnreadCounts": [
    { watches: [{ owner_id: "o", known_version: "1" }] },
    {
      update: {
        owner_id: "o",
        unread_count: {
          actor_count: "2",
          notification_count: "2",
          version: "2",
          unseen_notification_count: "2",
        },
      },
    },
  ],
  "meguri.notifications.v1.NotificationService/MarkNotificationsSeen": [
    { owner_id: "o", version: "1" },
    {
      unread_count: {
        actor_count: "2",
        notification_count: "2",
        version: "3",
        unseen_notification_count: "1",
      },
    },
  ],
  "meguri.notifications.v1.NotificationService/ListNotifications": [
    { owner_id: "o", state: "STATE_UNREAD" },
    {
      notifications: [
        {
          ...unread,
          kind: "comment",
          type: "TYPE_EVENT",
          first_actors: [{ user_id: "w", display_name: "W", create_time: now }],
          latest_actors: [{ user_id: "w", display_name: "W", create_time: now }],
          version: "2",
          seen: false,
        },
        {
          ...unread,
          kind: "like",
          type: "TYPE_REACTION",
          first_actors: [{ user_id: "u", display_name: "U", create_time: now }],
          latest_actors: [{ user_id: "u", display_name: "U", create_time: now }],
          version: "1",
          seen: true,
        },
      ],
      next_page_token: "",
    },
  ],
  "meguri.notifications.v1.NotificationService/GetUnreadCount": [
    { owner_id: "o" },
    {
      unread_count: {
        actor_count: "2",
        notification_count: "2",
        version: "3",
        unseen_notification_count: "1",
      },
    },
  ],
  "meguri.notifications.v1.NotificationService/GetNotification": [
    () => ({ owner_id: "o", notification_id: likeId }),
    { notification: { kind: "like", type: "TYPE_REACTION", version: "1", seen: true } },
  ],
  "meguri.notifications.v1.NotificationService/ListNotificationActors": [
    () => ({ owner_id: "o", notification_id: likeId }),
    { actors: [{ user_id: "u", display_name: "U", create_time: now }], next_page_token: "" },
  ],
  "meguri.notifications.v1.NotificationService/MarkNotificationRead": [
    () => ({ owner_id: "o", notification_id: likeId, version: "1" }),
    {
      changed: true,
      unread_count: {
        actor_count: "1",
        notification_count: "1",
        version: "4",
        unseen_notification_count: "1",
      },
    },
  ],
  "meguri.notifications.v1.NotificationService/MarkAllNotificationsRead": [
    { owner_id: "o", version: "4" },
    {
      marked_count: "1",
      unread_count: {
        actor_count: "0",
        notification_count: "0",
        version: "5",
        unseen_notification_count: "0",
      },
      next_page_token: "",
    },
  ],
  "meguri.notifications.v1.NotificationService/MarkNotificationUnread": [
    () => ({ owner_id: "o", notification_id: likeId }),
    {
      changed: true,
      unread_count: { notification_count: "1", version: "6" },
      notification: { kind: "like", seen: true, read_time: null },
    },
  ],
  "meguri.notifications.v1.NotificationService/DismissNotification": [
    () => ({ owner_id: "o", notification_id: likeId, version: "1" }),
    { changed: true, unread_count: { notification_count: "0", version: "7" } },
  ],
  "meguri.notifications.v1.NotificationService/UpdatePreferences": [
    { preferences: { owner_id: "o", all_muted: true, muted_kinds: ["like", "comment"], etag } },
    { preferences: { owner_id: "o", all_muted: true, muted_kinds: ["comment", "like"] } },
  ],
  "meguri.notifications.v1.NotificationService/GetPreferences": [
    { owner_id: "o" },
    { preferences: { owner_id: "o", all_muted: true, muted_kinds: ["comment", "like"] } },
  ],
  "meguri.notifications.v1.NotificationService/SetPersonMuted": [
    { owner_id: "o", user_id: "w", muted: true },
    { changed: true },
  ],
  "meguri.notifications.v1.NotificationService/BlockPerson": [
    { owner_id: "o", user_id: "w" },
    { changed: true, next_page_token: "" },
  ],
  "meguri.notifications.v1.NotificationService/ListMutedPeople": [
    { owner_id: "o" },
    { user_ids: ["w"], next_page_token: "" },
  ],
  "meguri.notifications.v1.NotificationService/SetTargetMuted": [
    { owner_id: "o", target_name: target, muted: true },
    { target: { muted: true } },
  ],
  "meguri.notifications.v1.NotificationService/ListMutedTargets": [
    { owner_id: "o" },
    { targets: [{ target_name: target, muted: true }], next_page_token: "" },
  ],
  "meguri.reactions.v1.ReactionService/Unreact": [
    { target_name: target, user_id: "u" },
    { changed: true, reaction_count: "0" },
  ],
  "meguri.reactions.v1.ReactionService/DeleteTarget": [
    { target_name: target },
    { target: { target_name: target, delete_time: { nanos: expect.any(Number) } } },
  ],
};

const csv = Buffer.from("user_id,points\nb1,5\nb2,x\n");
const bulkGrant = { bulk_grant_id: "b" };
const inState = (state: string) => ({ bulk_grant: { ...bulkGrant, state: `STATE_${state}` } });
const problem = { line: 3, user_id: "b2", code: "POINTS_MALFORMED" };

/** Without a workflow the bulk grant stays VALIDATING until it is cancelled. */
const bulkGrantCalls: typeof calls = {
  UploadBulkGrant: [
    { messages: [{ header: bulkGrant }, { csv_chunk: csv }, { end: {} }] },
    { ...inState("VALIDATING"), replayed: false, check: null },
  ],
  SubmitBulkGrant: [
    { ...bulkGrant, csv },
    { ...inState("VALIDATING"), replayed: true, revision: 1 },
  ],
  RequestGrant: [
    { bulk_grant_id: "request", user_id: "u", points: "5" },
    { bulk_grant: { request: { operation: "OPERATION_GRANT", user_id: "u" } }, replayed: false },
  ],
  RequestRevoke: [
    { bulk_grant_id: "revoke", user_id: "u", grant_event: { event_id: "none" } },
    { refused: "LEDGER_ENTRY_NOT_FOUND" },
  ],
  CheckSheet: [
    { ...bulkGrant, csv },
    { check: { row_count: 2, total_points: "5", problems: [problem] } },
  ],
  GetBulkGrant: [bulkGrant, { ...inState("VALIDATING"), progress: { granted_points: "0" } }],
  GetBulkGrantSummary: [bulkGrant, { refused: "SUMMARY_NOT_FOUND" }],
  ListBulkGrants: [
    {},
    { bulk_grants: [{ bulk_grant_id: "request" }, bulkGrant], next_page_token: "" },
  ],
  ListBulkGrantRows: [
    bulkGrant,
    {
      rows: [
        { user_id: "b1", state: "STATE_PENDING" },
        { state: "STATE_INVALID", problems: [problem] },
      ],
    },
  ],
  WatchBulkGrant: [bulkGrant, { update: inState("VALIDATING") }],
  ExportFailedBulkGrantRows: [bulkGrant, { csv_chunk: expect.any(Buffer) }],
  ListBulkGrantActions: [bulkGrant, { actions: [{ type: "TYPE_SUBMIT", revision: 1 }] }],
  ListBulkGrantRevisions: [bulkGrant, { revisions: [{ revision: 1, row_count: 2 }] }],
  ExportBulkGrantAudit: [bulkGrant, { csv_chunk: expect.any(Buffer) }],
  ApproveBulkGrant: [{ ...bulkGrant, digest: "d".repeat(43) }, { refused: "DIGEST_MISMATCH" }],
  RejectBulkGrant: [bulkGrant, { refused: "WRONG_STATE" }],
  PauseBulkGrant: [bulkGrant, { refused: "WRONG_STATE" }],
  ResumeBulkGrant: [bulkGrant, inState("VALIDATING")],
  RetryBulkGrant: [bulkGrant, { refused: "WRONG_STATE" }],
  ReverseBulkGrant: [
    { bulk_grant_id: "undo", reversed_bulk_grant_id: "b" },
    { refused: "WRONG_STATE" },
  ],
  CancelBulkGrant: [{ ...bulkGrant, reason: "over" }, inState("CANCELLED")],
};
for (const [name, each] of Object.entries(bulkGrantCalls)) {
  calls[`meguri.bulkgrants.v1.BulkGrantService/${name}`] = each;
}

describe("every RPC", () => {
  test("has a call in this test", () => {
    const methods = services.flatMap(({ typeName, methods }) =>
      methods.map(({ name }) => `${typeName}/${name}`),
    );
    expect(Object.keys(calls).sort()).toEqual(methods.sort());
  });

  test.each(Object.entries(calls))("%s", async (method, [request, expected]) => {
    if (expected.refused) {
      expect(await refusal(call(method, request))).toMatchObject({ reason: expected.refused });
    } else {
      const answer = await call(method, request);
      expect(answer).toMatchObject(expected);
      const [, like] = (answer.notifications ?? []) as [Answer?, Answer?];
      if (like) likeId = like.notification_id as string;
    }
  });

  test.each(Object.entries(calls))("%s needs a caller", async (method, [request]) => {
    expect(await refusal(call(method, request, ""))).toMatchObject({
      code: grpc.status.UNAUTHENTICATED,
      reason: "UNAUTHENTICATED",
      domain: "meguri",
    });
  });
});

/** The code and the only ErrorInfo of a refused call, decoded by hand. */
async function refusal(refused: Promise<Answer>) {
  const error: grpc.ServiceError = await refused.then(
    () => expect.fail("was answered"),
    (reason) => reason,
  );
  const [details] = error.metadata.get("grpc-status-details-bin");
  const infos = anysOf(details as Buffer)
    .filter(({ typeUrl }) => typeUrl === "type.googleapis.com/google.rpc.ErrorInfo")
    .map(({ value }) => fromBinary(ErrorInfoSchema, value));
  expect(infos).toHaveLength(1);
  return { code: error.code, reason: infos[0]?.reason, domain: infos[0]?.domain };
}

/** The details (field 3) of a google.rpc.Status, each a google.protobuf.Any. */
function anysOf(status: Uint8Array) {
  const reader = new BinaryReader(status);
  const found: Any[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 3) found.push(fromBinary(AnySchema, reader.bytes()));
    else reader.skip(wireType, field);
  }
  return found;
}
