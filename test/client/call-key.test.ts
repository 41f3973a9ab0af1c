/** Tests which key each request has. */
import type { DescMethod } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { keyReaderOf } from "../../packages/client/src/call-key.ts";
import { BulkGrantService } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { NotificationService } from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ReactionService } from "../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";

const points = PointsService.method;
const reactions = ReactionService.method;
const notifications = NotificationService.method;
const reservations = ReservationService.method;
const bulkGrants = BulkGrantService.method;

const target = { type: "post", id: "p1" };
const upload = { content: { case: "header", value: { programId: "p", bulkGrantId: "b" } } };

test.each<[DescMethod, object, string | undefined]>([
  [points.getBalance, { userId: "bao" }, "a/default/bao"],
  [points.grantPoints, { programId: "shop", userId: "bao" }, "a/shop/bao"],
  [points.grantPoints, {}, undefined],
  [points.verifyProgram, { programId: "shop" }, undefined],
  [reactions.react, { targetName: target, userId: "fan" }, "t/post/p1"],
  [reactions.react, { userId: "fan" }, undefined],
  [reactions.registerTarget, { targetName: target, ownerId: "aoi" }, "o/aoi"],
  [reactions.batchGetReactionSummaries, { targetNames: [target, { type: "post" }] }, "t/post/p1"],
  [notifications.getUnreadCount, { ownerId: "aoi" }, "o/aoi"],
  [notifications.markNotificationRead, { ownerId: "aoi", notificationId: "n" }, "o/aoi"],
  [notifications.markNotificationRead, { notificationId: "n" }, undefined],
  [notifications.updatePreferences, { preferences: { ownerId: "aoi" } }, "o/aoi"],
  [notifications.updatePreferences, {}, undefined],
  [notifications.notify, { targetName: target, actorId: "fan" }, "t/post/p1"],
  [notifications.watchUnreadCounts, { watches: [{ ownerId: "aoi" }, {}] }, "o/aoi"],
  [notifications.watchUnreadCounts, { watches: [] }, undefined],
  [reservations.createReservation, { userId: "bao" }, "a/default/bao"],
  [reservations.getReservation, { reservationId: "r" }, undefined],
  [bulkGrants.uploadBulkGrant, upload, undefined],
  [bulkGrants.getBulkGrant, { bulkGrantId: "b" }, undefined],
])("%s %j", ({ input }, request, key) => {
  expect(keyReaderOf(input)?.(request)).toBe(key);
});
