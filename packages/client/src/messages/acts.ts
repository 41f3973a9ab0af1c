/** The messages, enums and schemas of meguri.acts.v1. */
export * from "../../../../src/gen/meguri/acts/v1/act_pb.ts";
export * from "../../../../src/gen/meguri/acts/v1/act_service_pb.ts";
