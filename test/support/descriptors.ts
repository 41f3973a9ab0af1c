/** The services and their descriptors, for tests that must not leave one out. */
import { create, type DescFile, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import * as notifications from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "../../src/gen/meguri/testing/v1/clock_service_pb.ts";

export const services = [
  ProgramService,
  PointsService,
  ReservationService,
  ReactionService,
  notifications.NotificationService,
  ClockService,
] as const;

/** A FileDescriptorSet of files and all they import, dependencies first. */
export function descriptorSet(files: readonly DescFile[]): Buffer {
  const found = new Map<string, DescFile>();
  const visit = (file: DescFile): void => {
    if (found.has(file.name)) return;
    for (const dependency of file.dependencies) visit(dependency);
    found.set(file.name, file);
  };
  for (const file of files) visit(file);
  const set = { file: [...found.values()].map(({ proto }) => proto) };
  return Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, set)));
}

/** Every message of the files, nested ones included. */
export function messagesOf(files: readonly DescFile[]): DescMessage[] {
  const within = (message: DescMessage): DescMessage[] => [
    message,
    ...message.nestedMessages.flatMap(within),
  ];
  return files.flatMap((file) => file.messages.flatMap(within));
}
