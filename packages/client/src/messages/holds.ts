/** The messages, enums and schemas of meguri.holds.v1. */
export * from "../../../../src/gen/meguri/holds/v1/hold_pb.ts";
export * from "../../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
