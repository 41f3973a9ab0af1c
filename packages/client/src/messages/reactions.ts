/** The messages, enums and schemas of meguri.reactions.v1. */
export * from "../../../../src/gen/meguri/reactions/v1/actor_pb.ts";
export * from "../../../../src/gen/meguri/reactions/v1/reaction_pb.ts";
export * from "../../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
export * from "../../../../src/gen/meguri/reactions/v1/target_pb.ts";
