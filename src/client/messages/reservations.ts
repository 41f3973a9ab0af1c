/** The messages, enums and schemas of meguri.reservations.v1. */
export * from "../../gen/meguri/reservations/v1/reservation_pb.ts";
export * from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
