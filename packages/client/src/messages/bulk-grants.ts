/** The messages, enums and schemas of meguri.bulkgrants.v1. */
export * from "../../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
export * from "../../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
export * from "../../../../src/gen/meguri/bulkgrants/v1/bulk_grant_summary_pb.ts";
