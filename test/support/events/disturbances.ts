/** What happens to the events processes while they work. */
import { setTimeout as sleep } from "node:timers/promises";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import type { DynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { eventually } from "../fixtures/waiting.ts";
import type { EventsProcess, EventsStack } from "./events-stack.ts";

/** Between two faults. */
const pauseMs = 3_000;

/** Another process overtakes the writer within this time on a busy machine. */
const patienceMs = 150_000;

/**
 * Kills one of the events processes, and the command that prints, so many times. Returns the one
 * that has started last, which takes the lease.
 */
export async function killSome(
  { processes, killTail }: EventsStack,
  random: () => number,
  count: number,
): Promise<EventsProcess> {
  let last = processes[0] as EventsProcess;
  for (let i = 0; i < count; i++) {
    await sleep(random() * pauseMs);
    last = processes[Math.floor(random() * processes.length)] as EventsProcess;
    const [startAgain] = await Promise.all([last.faults.killed?.(), killTail()]);
    await startAgain?.();
  }
  return last;
}

/**
 * Stops the process that writes while an append of it is on its way, until the other process has
 * appended. Then the append arrives, and is refused; and the process goes on beside the other one.
 */
export async function stealLease(
  { server, processes }: EventsStack,
  writer: EventsProcess,
): Promise<void> {
  await becomes(writer, true);
  const { proxy } = writer;
  // With its first append a writer also moves the head of the log.
  await nextAppend(proxy);
  proxy.capture(true);
  const release = proxy.holdWrites();
  const { TableName, Key } = await nextAppend(proxy);
  const goOn = await writer.faults.stopped?.();
  const other = processes.find((each) => each !== writer) as EventsProcess;
  await becomes(other, true);
  await eventually(async () => {
    const command = new GetItemCommand({ TableName, Key, ConsistentRead: true });
    expect((await server.dynamo.send(command)).Item).toBeDefined();
  }, patienceMs);
  release(0);
  await eventually(async () => {
    const answers = proxy
      .captured()
      .filter(({ operation, request }) => operation === "PutItem" && isOf(request, Key.sk.S))
      .map(({ response }) => (response as { readonly __type?: string }).__type);
    expect(answers).toEqual([expect.stringContaining("ConditionalCheckFailedException")]);
  }, patienceMs);
  proxy.capture(false);
  await goOn?.();
  await becomes(writer, false);
}

const becomes = (process: EventsProcess, isWriting: boolean): Promise<void> =>
  eventually(async () => expect(await process.isWriting()).toBe(isWriting), patienceMs);

/** The parts of a PutItem that name the item. */
interface Append {
  readonly TableName: string;
  readonly Item: { readonly pk: { readonly S: string }; readonly sk: { readonly S: string } };
}

const isOf = (request: unknown, sk: string) => (request as Append).Item.sk.S === sk;

/** Waits for the next batch that a process appends to the log, and returns where. */
async function nextAppend(proxy: DynamoProxy) {
  const { promise, resolve } = Promise.withResolvers<Append>();
  proxy.onRequest((operation, body) => {
    if (operation !== "PutItem") return;
    const append: Append = JSON.parse(body.toString());
    if (append.Item.pk.S.startsWith("L#")) resolve(append);
  });
  const { TableName, Item } = await promise;
  proxy.onRequest(undefined);
  return { TableName, Key: { pk: Item.pk, sk: Item.sk } };
}
