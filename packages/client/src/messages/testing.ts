/** The messages and schemas of meguri.testing.v1, which a server serves with a test clock. */
export * from "../../../../src/gen/meguri/testing/v1/clock_service_pb.ts";
