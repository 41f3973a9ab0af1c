/** Damages accounts behind the processes, which then find and repair them. */
import {
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { pendingStart } from "../../../../src/due/store/codecs/due.ts";
import { ProgramJob_State as JobState } from "../../../../src/gen/meguri/points/v1/program_job_pb.ts";
import type { TableName } from "../../../../src/platform/dynamodb/tables.ts";
import { eventually } from "../../fixtures/waiting.ts";
import { changeItem } from "../../stores/change-item.ts";
import type { TourClients } from "./called.ts";

/** The tables behind the processes. */
export interface Behind {
  readonly client: DynamoDBClient;
  readonly tableName: TableName;
}

const program = { programId: "default" };
const keyOf = (userId: string, sk: string) => ({
  pk: { S: `A#default#${userId}` },
  sk: { S: sk },
});

/** Grants points to new accounts, and loses an entry, a balance, and the truth of a snapshot. */
async function damage({ points }: TourClients, behind: Behind, name: string): Promise<string[]> {
  const { client, tableName } = behind;
  const users = ["hole", "old", "wrong"].map((kind) => `${kind}-${name}`);
  const [hole = "", old = "", wrong = ""] = users;
  for (const userId of users) {
    for (const eventId of ["1", "2", "3"]) {
      await points.grantPoints({ ...program, userId, eventId, points: 9n });
    }
  }
  const ledger = tableName("points");
  const Key = keyOf(hole, "L#000000000002");
  await client.send(new DeleteItemCommand({ TableName: ledger, Key }));
  const lastNumber = (item: object) => ({ ...item, n: { N: "2" } });
  await changeItem(client, tableName("accounts"), keyOf(old, "A"), lastNumber);
  const totals = { L: [1, 0, 0, 0, 0].map((points) => ({ N: String(points) })) };
  const snapshot = (item: object) => ({ ...item, st: totals });
  await changeItem(client, ledger, keyOf(wrong, "L#000000000003"), snapshot);
  return users;
}

/** Has a server repair accounts one by one, and a worker those of the program. */
export async function tourDamages(clients: TourClients, behind: Behind): Promise<void> {
  const { points } = clients;
  for (const userId of await damage(clients, behind, "server")) {
    await points.verifyAccount({ ...program, userId, repair: true });
    const { differences } = await points.verifyAccount({ ...program, userId });
    expect(differences).toEqual([]);
  }
  const users = await damage(clients, behind, "worker");
  const job = { ...program, jobId: "repair" };
  await points.verifyProgram({ ...job, repair: true });
  await eventually(async () => {
    const { verification } = await points.getProgramVerification(job);
    expect(verification?.job?.state).toBe(JobState.DONE);
  });
  for (const userId of users) {
    const { differences } = await points.verifyAccount({ ...program, userId });
    expect(differences).toEqual([]);
  }
}

/** Leaves the mark of a reservation that a killed server has not written. A worker deletes it. */
export async function tourLostMark({ client, tableName }: Behind): Promise<void> {
  const TableName = tableName("points");
  const Key = pendingStart.key("default#lost");
  const mark = { ...pendingStart.encode({ programId: "default", reservationId: "lost", time: 0 }) };
  await client.send(new PutItemCommand({ TableName, Item: { ...mark, ...Key, v: { N: "1" } } }));
  await eventually(async () => {
    const { Item } = await client.send(
      new GetItemCommand({ TableName, Key, ConsistentRead: true }),
    );
    expect(Item).toBeUndefined();
  });
}
