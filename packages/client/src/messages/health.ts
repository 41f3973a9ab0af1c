/** The messages, enums and schemas of gRPC's health protocol, grpc.health.v1. */
export * from "../../../../src/gen/grpc/health/v1/health_pb.ts";
