/** Puts stored items into tables, and asks a server about them. */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import {
  type DescMethod,
  type DescService,
  fromJson,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { HoldService } from "../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import { NotificationService } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { eventually } from "../fixtures/waiting.ts";
import type { Clients, TestServer } from "../servers/server.ts";
import type { StoredItem } from "../stored-items/recorder.ts";
import type { Question } from "./questions.ts";

const services = {
  programs: ProgramService,
  points: PointsService,
  reservations: ReservationService,
  holds: HoldService,
  reactions: ReactionService,
  notifications: NotificationService,
  bulkGrants: BulkGrantService,
} satisfies Partial<Record<keyof Clients, DescService>>;

type Unary = (request: Message) => Promise<Message>;

/**
 * Writes what the items leave behind: of those with one key, the last. They get no TTL, because
 * DynamoDB Local goes by the real time, which is later, and would delete them.
 */
export async function putItems(
  { dynamo, table }: Pick<TestServer, "dynamo" | "table">,
  items: readonly Omit<StoredItem, "kind">[],
): Promise<void> {
  const last = new Map(
    items.map((stored) => [JSON.stringify([stored.table, stored.item.pk, stored.item.sk]), stored]),
  );
  await Promise.all(
    [...last.values()].map(async ({ op, table: name, item: { ttl: _, ...item } }) => {
      const TableName = table(name);
      if (op === "put") await dynamo.send(new PutItemCommand({ TableName, Item: item }));
      else await dynamo.send(new DeleteItemCommand({ TableName, Key: item }));
    }),
  );
}

export const setTime = async ({ clock }: Pick<Clients, "clock">, time: string): Promise<void> => {
  await clock.setTime({ time: timestampFromDate(new Date(time)) });
};

/** Returns the JSON of the answer, or of the refusal. Repeats a call that may succeed later. */
export async function answerTo(
  { clientsOf }: Pick<TestServer, "clientsOf">,
  { method, request, caller }: Question,
): Promise<JsonValue> {
  const [service, name] = method.split(".") as [keyof typeof services, string];
  const { input, output } = (services[service] as DescService).method[name] as DescMethod;
  const client = clientsOf(caller)[service] as unknown as Record<string, Unary>;
  return await eventually(async () => {
    try {
      return toJson(output, await (client[name] as Unary)(fromJson(input, request)));
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      const [info] = error.findDetails(ErrorInfoSchema);
      const isLate = info?.reason === "DEADLINE";
      if (!info || isLate || error.findDetails(RetryInfoSchema).length > 0) throw error;
      return { refusal: info.reason };
    }
  });
}
