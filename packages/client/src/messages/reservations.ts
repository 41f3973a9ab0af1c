/** The messages, enums and schemas of meguri.reservations.v1. */
export * from "../../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
export * from "../../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
