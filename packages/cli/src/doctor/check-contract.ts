/** Compares the methods that a server serves with those that this command was built with. */
import { type DescService, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import { ServerReflection } from "../../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { BulkGrantService } from "../../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { NotificationService } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { CheckFailed } from "./checks.ts";

const services: readonly DescService[] = [
  ProgramService,
  PointsService,
  ReservationService,
  ReactionService,
  NotificationService,
  BulkGrantService,
];

/** Says which one is newer. Throws CheckFailed if the server lacks a method of this command. */
export async function checkContract(transport: Transport, options: CallOptions): Promise<string> {
  const served = await servedMethods(transport, options);
  const own = new Set(
    services.flatMap(({ methods }) =>
      methods.map(({ parent, name }) => `${parent.typeName}.${name}`),
    ),
  );
  const missing = [...own].filter((method) => !served.has(method));
  if (missing.length > 0) {
    throw new CheckFailed(
      `the server is older than this command: it does not serve ${listOf(missing)}`,
      "Update the server, or use the command of the server's version.",
    );
  }
  const more = [...served].filter((method) => !own.has(method));
  if (more.length === 0) return "the server and this command know the same methods";
  return `the server is newer than this command: it also serves ${listOf(more)}`;
}

/** The full names of the methods of Meguri's services, by the server's reflection. */
async function servedMethods(transport: Transport, options: CallOptions): Promise<Set<string>> {
  async function* requests() {
    for (const { typeName: value } of services) {
      yield { messageRequest: { case: "fileContainingSymbol" as const, value } };
    }
  }
  const responses = createClient(ServerReflection, transport).serverReflectionInfo(
    requests(),
    options,
  );
  const names = new Set(services.map(({ typeName }) => typeName));
  const methods = new Set<string>();
  for await (const { messageResponse } of responses) {
    if (messageResponse.case !== "fileDescriptorResponse") continue;
    for (const bytes of messageResponse.value.fileDescriptorProto) {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      for (const service of file.service) {
        const name = `${file.package}.${service.name}`;
        if (!names.has(name)) continue;
        for (const method of service.method) methods.add(`${name}.${method.name}`);
      }
    }
  }
  return methods;
}

/** The first three, and how many more there are. */
function listOf(methods: readonly string[]): string {
  const first = methods.slice(0, 3);
  const others = methods.length - first.length;
  return first.join(", ") + (others > 0 ? ` and ${others} more` : "");
}
