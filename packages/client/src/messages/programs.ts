/** The messages, enums and schemas of meguri.programs.v1. */
export * from "../../../../src/gen/meguri/programs/v1/program_pb.ts";
export * from "../../../../src/gen/meguri/programs/v1/program_service_pb.ts";
