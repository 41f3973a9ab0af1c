/** The messages, enums and schemas of meguri.notifications.v1. */
export * from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
export * from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
