/** The messages, enums and schemas of meguri.points.v1. */
export * from "../../../../src/gen/meguri/points/v1/balance_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/difference_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/forecast_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/ledger_export_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/liability_report_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/points_service_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/program_job_pb.ts";
export * from "../../../../src/gen/meguri/points/v1/program_verification_pb.ts";
